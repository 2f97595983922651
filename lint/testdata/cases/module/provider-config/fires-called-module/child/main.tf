provider "aws" {
  secret_key = "abc"
}
