/* About the size:
 * tfcapi-lint:ignore input/type the type is fine
 */
variable "size" {
  type = string
}
