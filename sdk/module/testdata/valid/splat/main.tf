variable "list" {
  type    = list(object({ id = string, tags = map(string) }))
  default = []
}
resource "terraform_data" "many" {
  count = length(var.list)
  input = var.list[count.index].tags["name"]
}
output "ids" {
  value = concat(terraform_data.many[*].id, var.list.*.id)
}
output "index" {
  value = try({ for i, m in terraform_data.many : m.id => i }[var.list[0].id], null)
}
