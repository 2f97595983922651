output "replicas" {
  value = tostring(length(local.ids))
}

locals {
  ids = []
}
