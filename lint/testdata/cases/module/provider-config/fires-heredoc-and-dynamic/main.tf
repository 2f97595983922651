provider "example" {
  private_key = <<-EOT
    -----BEGIN
  EOT

  dynamic "auth" {
    for_each = [1]
    content {
      token = "abc"
    }
  }
}
