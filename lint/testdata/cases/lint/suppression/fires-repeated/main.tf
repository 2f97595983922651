# tfcapi-lint:ignore input/user-variable-default every object sets it
# tfcapi-lint:ignore input/user-variable-default every object must set it
variable "size" {
  type = string
}
