output "exports" {
  value = { sizes = [1, { weight = 2.25 }] }
}
