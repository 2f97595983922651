# User variables: the knobs that people set in spec.variables of their objects, in
# alphabetical order. Give each a default, or every object must set it.

variable "size" {
  type        = string
  description = "Size of an instance, in the cloud's own terms."
  default     = "small"
  nullable    = false
}
