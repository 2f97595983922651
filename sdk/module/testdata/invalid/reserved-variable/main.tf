variable "source" {}
variable "count" {}
variable "lifecycle" {}
