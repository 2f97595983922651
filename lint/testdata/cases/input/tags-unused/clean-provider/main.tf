variable "captf_tags" {
  type = map(string)
}

provider "aws" {
  default_tags {
    tags = var.captf_tags
  }
}
