/* Every object has a size.
 * tfcapi-lint:ignore input/user-variable-default every object sets it
 */
variable "size" {
  type = string
}

/*
  tfcapi-lint:ignore input/user-variable-default every object sets it */
variable "zone" {
  type = string
}
