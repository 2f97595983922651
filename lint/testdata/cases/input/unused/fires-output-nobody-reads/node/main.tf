variable "k8s" {
  type = string
}

variable "zones" {
  type = list(string)
}

output "id" {
  value = "a"
}

output "k8s" {
  value = var.k8s
}

output "zones" {
  value = var.zones
}
