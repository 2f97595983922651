module "m" {
  source = "./m"
  lifecycle {
    enabled = true
  }
}
