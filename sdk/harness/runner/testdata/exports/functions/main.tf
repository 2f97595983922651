variable "captf_cluster_outputs" {}

output "identity" {
  value = tomap(var.captf_cluster_outputs.tags)["name"]
}
output "coalesce" {
  value = coalesce(var.captf_cluster_outputs.image, "none")
}
output "merge" {
  value = merge({ a = 1 }, var.captf_cluster_outputs.labels).a
}
output "keys" {
  value = length(keys(var.captf_cluster_outputs))
}
output "template" {
  value = <<-EOT
    %{if var.captf_cluster_outputs.flag}on%{endif}
  EOT
}
