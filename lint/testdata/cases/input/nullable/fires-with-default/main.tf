variable "kubernetes_version" {
  type     = string
  nullable = false
  default  = "v1.34.0"
}
