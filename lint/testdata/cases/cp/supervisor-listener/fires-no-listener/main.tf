variable "distribution" {
  type    = string
  default = "kubeadm"

  validation {
    condition     = contains(["kubeadm", "rke2"], var.distribution)
    error_message = "distribution must be kubeadm or rke2."
  }
}

variable "cluster_network" {
  type = object({
    api_server_port = number
  })
  default = null
}

resource "aws_lb_listener" "api" {
  port = try(var.cluster_network.api_server_port, 6443)
}
