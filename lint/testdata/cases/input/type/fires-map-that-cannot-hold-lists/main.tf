variable "cluster_network" {
  type = map(string)
}
