# tfcapi-lint:ignore input/user-variable-default
variable "region" {
  type = string
}
