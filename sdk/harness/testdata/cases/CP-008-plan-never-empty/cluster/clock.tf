# Changes by itself.
resource "terraform_data" "clock" {
  input = timestamp()
}
