variable "x" {
  description = "Overridden."
  type        = string
  sensitive   = true
}
output "o" {
  sensitive   = true
  description = "Overridden."
}
module "m" {
  source   = "./m"
  for_each = toset(["x"])
  providers = {
    terraform = terraform
  }
}
resource "terraform_data" "r" {
  for_each = toset(["a", "b"])
  provider = terraform
}
resource "terraform_data" "s" {
  count = 2
  connection {
    host = "b"
  }
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = true
    ignore_changes        = all
    replace_triggered_by  = [terraform_data.r]
  }
}
