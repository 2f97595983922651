terraform {
  backend "local" {}
  backend "http" {}
}
