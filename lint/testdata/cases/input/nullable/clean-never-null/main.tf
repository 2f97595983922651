variable "machine_name" {
  type     = string
  nullable = false
}

variable "captf_cluster_outputs" {
  type     = any
  nullable = false
}

variable "failure_domain" {
  type     = string
  nullable = true
}
