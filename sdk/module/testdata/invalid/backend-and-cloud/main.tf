terraform {
  backend "local" {}
  cloud {}
}
