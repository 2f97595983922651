variable "failure_domain" {
  type    = string
  default = null
}

variable "captf_cluster_outputs" {
  type    = any
  default = null
}

variable "kubernetes_version" {
  type = string
}
