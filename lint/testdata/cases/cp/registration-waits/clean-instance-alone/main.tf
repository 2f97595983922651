resource "aws_instance" "node" {
  ami = data.http.image.response_body
}

# A look-up before the instance waits for no node, and neither does a note behind it.
data "http" "image" {
  url = "https://images.example.com/latest"
}

data "http" "inventory" {
  url = "https://inventory.example.com/machines/${aws_instance.node.id}"
}

resource "time_sleep" "permissions" {
  create_duration = "10s"
}

resource "aws_lb_target_group_attachment" "api" {
  target_id  = aws_instance.node.id
  depends_on = [time_sleep.permissions, data.http.inventory]
}
