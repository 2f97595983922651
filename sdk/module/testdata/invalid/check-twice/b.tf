check "x" {
  assert {
    condition     = local.a
    error_message = "Never."
  }
}
