resource "terraform_data" "r" {
  connection {
    host = self.id
  }
  connection {
    host = self.id
  }
  provisioner "local-exec" {
    when    = destroy
    command = "true"
    connection {
      host = var.x
    }
  }
  _ {
    input = 1
  }
  _ {
    input = 1
  }
}
variable "x" {}
