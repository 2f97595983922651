# Comments stay.
variable "bootstrap_data" { type = string } # here, too
