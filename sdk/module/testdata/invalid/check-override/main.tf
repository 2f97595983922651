locals {
  a = true
}
