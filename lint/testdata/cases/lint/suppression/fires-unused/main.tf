# tfcapi-lint:ignore input/user-variable-default every object chooses
variable "region" {
  type    = string
  default = ""
}
