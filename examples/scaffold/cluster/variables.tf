# User variables: the knobs that people set in spec.variables of their objects, in
# alphabetical order. Give each a default, or every object must set it.

variable "zones" {
  type        = list(string)
  description = "Zones that machines are spread over; each becomes a failure domain."
  default     = ["zone-a", "zone-b", "zone-c"]
  nullable    = false
}
