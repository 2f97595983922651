# tfcapi-lint:ignore
# tfcapi-lint:disable input/type because
variable "region" {
  type    = string
  default = ""
}
