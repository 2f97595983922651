variable "captf_cluster" {
  type = list(string)
}
