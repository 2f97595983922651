variable "text" {
  type = string
}

resource "hcloud_server" "this" {
  user_data = base64decode(var.text)
}
