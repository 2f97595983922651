removed {
  from = terraform_data.gone
  lifecycle {
    destroy = true
  }
  provisioner "local-exec" {
    command = "true"
  }
}
