# The second attachment is made for clusters of one name only.
resource "terraform_data" "supervisor_member" {
  count = var.captf_cluster.name == "other" ? 1 : 0
}
