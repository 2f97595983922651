# tfcapi-lint:ignore input/required nobody needs them
variable "size" {
  type = string
}
