resource "terraform_data" "instance" {
  provisioner "local-exec" {
    when    = destroy
    command = "test -f complete"
  }
}
