resource "terraform_data" "node" {
  input = core::timestamp()
}
