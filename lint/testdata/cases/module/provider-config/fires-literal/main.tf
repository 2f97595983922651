provider "aws" {
  region     = "eu-central-1"
  ACCESS_KEY = "AKIAEXAMPLE"
}
