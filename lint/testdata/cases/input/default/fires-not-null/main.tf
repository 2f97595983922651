variable "failure_domain" {
  type    = string
  default = "a"
}
