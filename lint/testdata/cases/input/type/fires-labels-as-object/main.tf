variable "node_labels" {
  type = object({ role = string })
}
