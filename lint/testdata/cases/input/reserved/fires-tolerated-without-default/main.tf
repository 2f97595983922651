variable "captf_cluster_outputs" {
  type = any
}
