resource "aws_instance" "node" {
  ami = "ami-0123"
}

resource "aws_lb_target_group_attachment" "api" {
  target_id = aws_instance.node.id
}

resource "terraform_data" "booted" {
  depends_on = [aws_lb_target_group_attachment.api]
  input      = aws_instance.node.id

  provisioner "remote-exec" {
    inline = ["cloud-init status --wait"]
  }
}
