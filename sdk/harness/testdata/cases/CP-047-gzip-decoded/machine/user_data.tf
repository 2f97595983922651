# The payload is decoded into text, which gzip is not.
resource "terraform_data" "user_data" {
  input = sensitive(sha256(base64decode(var.bootstrap_data)))
}
