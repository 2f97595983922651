variable "captf_cluster" {
  type = object({ name = string, namespace = string, uid = string })
}
