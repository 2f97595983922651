resource "terraform_data" "x" {
  _ {
    input = "x"
  }
}
