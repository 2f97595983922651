resource "terraform_data" "load_balancer" {
  lifecycle {
    prevent_destroy = true
  }
}
