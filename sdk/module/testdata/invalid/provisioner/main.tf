resource "terraform_data" "a" {
  provisioner "local-exec" {
    when    = sometimes
    command = "x"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo ${var.x}"
  }
  provisioner "chef" {}
}
variable "x" {}
