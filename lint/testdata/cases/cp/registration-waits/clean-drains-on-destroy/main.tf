resource "aws_instance" "node" {
  ami = "ami-0123"

  provisioner "local-exec" {
    when    = destroy
    command = "sleep 30"
  }

  provisioner "local-exec" {
    command = "echo ${self.id}"
  }
}

resource "time_sleep" "drain" {
  destroy_duration = "30s"
  triggers         = { id = aws_instance.node.id }
}

resource "aws_lb_target_group_attachment" "api" {
  target_id = time_sleep.drain.triggers.id
}
