variable "bootstrap_format" {
  type = string
}

variable "failure_domains" {
  type = list(string)
}

variable "kubernetes_version" {
  type = string
}

variable "node_labels" {
  type = map(string)
}
