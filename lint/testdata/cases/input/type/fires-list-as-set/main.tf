variable "failure_domains" {
  type = set(string)
}
