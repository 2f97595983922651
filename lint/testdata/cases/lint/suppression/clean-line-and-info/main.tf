variable "region" { # tfcapi-lint:ignore input/user-variable-default every object chooses
  type = string
}

locals {
  a = uuid() /* tfcapi-lint:ignore module/nondeterministic nothing reads it */
}
