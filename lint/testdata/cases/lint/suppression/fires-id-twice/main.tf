# tfcapi-lint:ignore input/user-variable-default,input/user-variable-default every object sets it
variable "size" {
  type = string
}
