terraform {
  # What the module is tested with; raise it when you use newer syntax.
  required_version = ">= 1.5.0"
}
