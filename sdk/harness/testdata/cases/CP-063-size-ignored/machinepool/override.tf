resource "terraform_data" "group" {
  input = {
    object       = var.captf_object
    bootstrap    = sha256(nonsensitive(var.bootstrap_data))
    replicas     = 3
    version_roll = terraform_data.kubernetes_version_roll.id
  }
}
