terraform {
  required_version = "new"
}
