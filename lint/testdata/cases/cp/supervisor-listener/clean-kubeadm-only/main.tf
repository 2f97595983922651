variable "distribution" {
  type        = string
  description = "Only kubeadm; rke2 is not supported."
  default     = "kubeadm"
}

# RKE2 would need another listener.
resource "aws_lb_listener" "api" {
  port = 6443
}
