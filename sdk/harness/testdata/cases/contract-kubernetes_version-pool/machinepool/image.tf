resource "terraform_data" "image" {
  input = "image-${split("+", var.kubernetes_version)[0]}"
}
