output "exports" {
  value = {
    a = sort([0.5])
    b = compact([0.5])
  }
}
