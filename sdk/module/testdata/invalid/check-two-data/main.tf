check "a-b" {
  data "terraform_remote_state" "a" {
    backend = "local"
  }
  data "terraform_remote_state" "b" {
    backend = "local"
  }
  assert {
    condition     = true
    error_message = "Never."
  }
}
