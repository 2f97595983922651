output "provider_id_list" {
  value = aws_autoscaling_group.this.instances
}
