resource "terraform_data" "named" {
  input = { name = "${substr(var.machine_name, 0, 54)}-${var.captf_object.namespace}" }
}
