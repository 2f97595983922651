variable "captf_cluster_outputs" {
  type = map(string)
}
