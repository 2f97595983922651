# tfcapi-lint:ignore input/user-default,input/user-variable-default every object chooses
variable "region" {
  type = string
}
