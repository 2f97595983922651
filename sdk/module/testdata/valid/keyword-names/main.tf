variable "resource" {}
variable "var" {
  type = map(object({ any = any }))
}
locals {
  for = 1
  a-b = local.for
}
output "data" {
  value = [for var in [1, 2] : var if local.a-b > 0]
}
output "heredoc" {
  value = <<EOT
%{for k, v in var.var~}
${k} = ${v.any}
%{endfor~}
EOT
}
