resource "hcloud_server" "node" {
  name = "node"
}

resource "time_sleep" "boot" {
  create_duration = "180s"
  triggers        = { id = hcloud_server.node.id }
}

module "member" {
  source     = "./member"
  server     = hcloud_server.node.id
  depends_on = [time_sleep.boot]
}
