variable "failure_domains" {
  type = tuple([string])
}
