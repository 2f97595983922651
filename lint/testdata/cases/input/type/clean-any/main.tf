variable "captf_contract" {
  type = any
}

variable "captf_cluster" {
  type = any
}

variable "captf_tags" {
  type = map(any)
}

variable "failure_domains" {
  type = list(any)
}

variable "node_labels" {
  type = any
}

variable "autoscaling" {
  type = any
}
