variable "captf_cluster" {
  type = map(string)
}
