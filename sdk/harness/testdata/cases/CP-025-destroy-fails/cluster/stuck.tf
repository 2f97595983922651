resource "terraform_data" "stuck" {
  provisioner "local-exec" {
    when    = destroy
    command = "exit 1"
  }
}
