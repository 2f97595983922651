variable "captf_cluster_outputs" {
  type = object({ network = string })
}
