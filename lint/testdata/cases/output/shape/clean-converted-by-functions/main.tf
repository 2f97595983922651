variable "numbers" {
  type    = list(number)
  default = []
}

# Each of these functions makes strings of its numbers.
output "provider_id_list" {
  value = concat(sort([1, 2]), sort(var.numbers), compact([0.5]), tolist(["a", 1]))
}
