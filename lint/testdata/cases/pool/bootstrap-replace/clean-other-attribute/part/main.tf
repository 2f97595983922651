variable "all" {
  type = any
}

resource "null_resource" "member" {
  triggers = { v = var.all.v }
}

output "all" {
  value = { v = var.all.v, boot = var.all.boot }
}
