variable "captf_object" {
  type = object({ name = string, uid = optional(string) })
}

variable "cluster_network" {
  type = object({ pods = optional(list(string), []) })
  default = null
}
