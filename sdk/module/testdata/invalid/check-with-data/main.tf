check "a" {
  data "terraform_remote_state" "a" {
    backend = "local"
    count   = 1
  }
  assert {
    condition     = data.terraform_remote_state.a.outputs != null
    error_message = "Never."
  }
}
check "b" {
  data "terraform_remote_state" "b" {
    backend = "local"
    lifecycle {}
  }
  assert {
    condition     = data.terraform_remote_state.b.outputs != null
    error_message = "Never."
  }
}
