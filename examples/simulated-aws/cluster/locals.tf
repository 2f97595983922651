locals {
  # Names hold a hash of namespace and name, so that names which are cut, or which differ
  # only in what is replaced, stay apart. It is the object's name and not the cluster's:
  # two objects never have the same.
  key    = "${var.captf_object.namespace}/${var.captf_object.name}"
  hash   = substr(sha256(local.key), 0, 8)
  base   = replace(lower("captf-${var.captf_object.namespace}-${var.captf_object.name}"), "/[^a-z0-9-]/", "-")
  prefix = "${trimsuffix(substr(local.base, 0, 31), "-")}-${local.hash}" # at most 40 characters

  # Load balancers and target groups have names of at most 32 characters.
  short = "${trimsuffix(substr(local.base, 0, 18), "-")}-${local.hash}" # at most 27 characters

  # The contract's tags win.
  tags = merge(var.additional_tags, var.captf_tags)

  # What the cloud controller manager recognises as its own. Of the security groups of an
  # instance exactly one may have it.
  owned = { "kubernetes.io/cluster/${local.prefix}" = "owned" }

  # Appending a zone leaves the subnets of the others alone.
  zones = { for index, zone in coalesce(var.zones, [for letter in ["a", "b", "c"] : "${var.region}${letter}"]) : zone => index }

  own_endpoint = var.control_plane_endpoint == null
  rke2         = var.distribution == "rke2" || (var.distribution == "auto" && can(regex("\\+rke2r[0-9]+$", var.kubernetes_version)))

  # RKE2 serves its API on 6443 whatever api_server_port says (CP-017); kubeadm's
  # bindPort has to equal it (CP-015).
  api_port    = coalesce(try(var.cluster_network.api_server_port, null), 6443)
  api_backend = local.rke2 ? 6443 : local.api_port
  supervisor  = var.distribution == "rke2" || (var.distribution == "auto" && local.api_port != 9345)

  # The ports of the control plane that every node needs: the same keys name listeners,
  # target groups, rules and exports.
  services = merge(
    { kube_apiserver = { suffix = "kapi", frontend = local.api_port, backend = local.api_backend } },
    { for key, service in { rke2_supervisor = { suffix = "rke2", frontend = 9345, backend = 9345 } } : key => service if local.supervisor },
  )
  listeners = { for key, service in local.services : key => service if local.own_endpoint }
}
