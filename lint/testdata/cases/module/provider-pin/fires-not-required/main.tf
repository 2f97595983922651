resource "aws_instance" "a" {}

resource "aws_instance" "b" {}

data "google_project" "p" {}
