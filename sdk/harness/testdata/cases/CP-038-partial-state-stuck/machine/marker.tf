# Destroy needs a file that only a complete create leaves behind.
resource "terraform_data" "marker" {
  input = terraform_data.instance.id

  provisioner "local-exec" {
    command = "touch complete"
  }
}
