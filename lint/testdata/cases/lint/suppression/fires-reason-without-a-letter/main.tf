# tfcapi-lint:ignore input/user-variable-default ...
variable "size" {
  type = string
}
