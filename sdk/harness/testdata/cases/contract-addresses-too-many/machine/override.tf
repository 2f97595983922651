output "addresses" {
  value = [for n in range(300) : { type = "InternalIP", address = "198.18.1.${n}" }]
}
