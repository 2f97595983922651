# Every kind of type, with and without a default.
variable "any" {}
variable "string" {
  type        = string
  description = "A text."
  default     = 12
}
variable "number" {
  type    = number
  default = "7"
}
variable "bool" {
  type    = bool
  default = true
}
variable "bare_list" {
  type    = list
  default = ["a", "b"]
}
variable "bare_map" {
  type = map
}
variable "set" {
  type    = set(string)
  default = ["b", "a", "b"]
}
variable "tuple" {
  type    = tuple([string, number])
  default = ["a", 1]
}
variable "optional" {
  type = object({
    name  = string
    size  = optional(number, 3)
    tags  = optional(map(string), {})
    disks = optional(list(object({ gib = optional(number, 10) })), [])
  })
  default = {
    name  = "x"
    disks = [{}]
  }
}
variable "dynamic" {
  type    = any
  default = { a = [1, "x"] }
}
