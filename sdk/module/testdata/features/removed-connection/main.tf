removed {
  from = terraform_data.gone
  lifecycle {
    destroy = true
  }
  connection {
    host = self.id
  }
  provisioner "local-exec" {
    when    = destroy
    command = "true"
  }
}
