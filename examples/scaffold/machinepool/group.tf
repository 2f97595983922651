# REPLACE: the scaling group and its launch configuration. Bootstrap data rotates every
# few minutes: it must change the launch configuration in place and replace no member (CP-061).
resource "terraform_data" "group" {
  input = {
    name            = local.group_name
    failure_domains = local.failure_domains
    namespace       = var.captf_object.namespace
    node_labels     = var.node_labels
    size            = local.size
    size_of_members = var.size
    tags            = var.captf_tags
    version_roll    = terraform_data.kubernetes_version_roll.id

    # REPLACE: the user data of new members. The payload is opaque, may be gzip and holds
    # a join token; this record keeps a digest, because state is plain text.
    user_data_format = var.bootstrap_format
    user_data_sha256 = nonsensitive(sha256(var.bootstrap_data))
  }
}
