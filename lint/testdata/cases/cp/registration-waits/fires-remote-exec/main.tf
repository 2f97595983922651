resource "aws_instance" "node" {
  ami = "ami-0123"
}

resource "null_resource" "booted" {
  triggers = { id = aws_instance.node.id }

  provisioner "remote-exec" {
    inline = ["cloud-init status --wait"]
  }
}

resource "aws_lb_target_group_attachment" "api" {
  target_id  = aws_instance.node.id
  depends_on = [null_resource.booted]
}
