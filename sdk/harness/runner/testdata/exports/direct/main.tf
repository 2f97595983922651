variable "captf_cluster_outputs" {}

resource "x" "y" {
  a = var.captf_cluster_outputs.network.subnet_id
  b = var.captf_cluster_outputs["lb"]["target-group"]
  c = var.captf_cluster_outputs.subnets[0].id
  d = var.captf_cluster_outputs.zones[*].name
  e = "id-${var.captf_cluster_outputs.id}"
  f = [for k, v in var.captf_cluster_outputs.groups : v.id]
  g = var.captf_cluster_outputs.by_zone[var.zone].id
  h = (var.captf_cluster_outputs.parens).inner
  i = var.captf_cluster_outputs
  j = jsonencode({ all = var.captf_cluster_outputs, k = var.other.captf_cluster_outputs.no })

  nested {
    deep {
      k = var.captf_cluster_outputs.deep
    }
  }
}

variable "zone" {}
variable "other" {}
