# REPLACE: the instance, with its disk and its network interface. Nothing else: what
# machines share belongs into the cluster module.
resource "terraform_data" "instance" {
  input = {
    name           = local.instance_name
    failure_domain = var.failure_domain
    hostname       = var.machine_name
    image          = local.image
    namespace      = var.captf_object.namespace
    size           = var.size
    tags           = var.captf_tags

    # REPLACE: the user data of the instance, for example user_data_base64 =
    # var.bootstrap_data. The payload is opaque, may be gzip and holds private keys; this
    # record keeps a digest, because state is plain text.
    user_data_format = var.bootstrap_format
    user_data_sha256 = nonsensitive(sha256(var.bootstrap_data))
  }
}
