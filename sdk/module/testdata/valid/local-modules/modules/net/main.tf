variable "tags" {
  type = map(string)
}
module "leaf" {
  source     = "../leaf"
  name       = var.tags["index"]
  depends_on = [terraform_data.net]
}
resource "terraform_data" "net" {
  input = var.tags
}
output "id" {
  value = module.leaf.name
}
