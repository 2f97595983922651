variable "zone" {
  type = string
}

variable "format" {
  type = string

  validation {
    condition     = var.format == "cloud-config"
    error_message = "Only cloud-config boots."
  }
}

resource "terraform_data" "node" {
  input = { zone = var.zone }
}
