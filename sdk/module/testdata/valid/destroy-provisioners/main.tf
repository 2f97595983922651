resource "terraform_data" "r" {
  for_each = toset(["a"])
  provisioner "local-exec" {
    when    = "destroy"
    command = "echo ${each.key} ${path.module} ${self.id} ${terraform.workspace}"
    connection {
      host = self.id
    }
  }
}
resource "terraform_data" "s" {
  count = 1
  connection {
    host = self.id
  }
  provisioner "local-exec" {
    when       = destroy
    on_failure = "fail"
    command    = "echo ${count.index}"
  }
}
