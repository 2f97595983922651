variable "failure_domain" {
  type     = string
  nullable = false
  default  = ""
}
