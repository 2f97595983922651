# User variables, all optional.

variable "additional_tags" {
  type        = map(string)
  description = "Tags for every resource that can be tagged, beside those of the contract, which win."
  default     = {}
  nullable    = false

  validation {
    condition     = length(var.additional_tags) <= 40
    error_message = "additional_tags must have at most 40 entries: AWS allows 50 tags a resource."
  }

  validation {
    condition     = alltrue([for key in keys(var.additional_tags) : !can(regex("^(?i:aws:)|^captf\\.io/|^kubernetes\\.io/cluster/", key))])
    error_message = "additional_tags must not have keys that begin with aws:, captf.io/ or kubernetes.io/cluster/."
  }
}

variable "autoscaling_target_cpu_percent" {
  type        = number
  description = "Average use of the CPU that scaling keeps to while autoscaling is enabled."
  default     = 60
  nullable    = false

  validation {
    condition     = var.autoscaling_target_cpu_percent > 0 && var.autoscaling_target_cpu_percent <= 100
    error_message = "autoscaling_target_cpu_percent must be above 0 and at most 100."
  }
}

variable "external_cluster_exports" {
  type        = any
  description = "The cluster's exports when captf_cluster_outputs is empty because the cluster is managed externally."
  default     = null

  validation {
    condition     = var.external_cluster_exports == null || try(var.external_cluster_exports.schema, "") == "captf.io/simulated-aws-cluster/v1"
    error_message = "external_cluster_exports must be null or an object whose schema is captf.io/simulated-aws-cluster/v1."
  }
}

variable "image" {
  type = object({
    id           = optional(string)
    owner        = optional(string, "819546954734")
    name         = optional(string, "capa-ami-ubuntu-24.04-?{semver}-*")
    architecture = optional(string, "x86_64")
    root_device  = optional(string, "/dev/sda1")
  })
  description = "Image that members boot: an id, or the newest one that has this owner, name and architecture. {semver} in the name stands for the Kubernetes version, without what follows a plus, or for any when there is none. root_device is the name of its root device."
  default     = {}
  nullable    = false

  validation {
    condition     = var.image.id == null || can(regex("^ami-[0-9a-f]+$", var.image.id))
    error_message = "image.id must be the id of an image, such as ami-0123456789abcdef0."
  }

  validation {
    condition     = contains(["x86_64", "arm64"], var.image.architecture)
    error_message = "image.architecture must be x86_64 or arm64."
  }
}

variable "instance_type" {
  type        = string
  description = "Instance type."
  default     = "m7i.large"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9-]+\\.[a-z0-9-]+$", var.instance_type))
    error_message = "instance_type must be the name of an instance type, such as m7i.large."
  }
}

variable "public_ip" {
  type        = bool
  description = "Whether members have public addresses; without them they need another way to image registries than the internet gateway."
  default     = true
  nullable    = false
}

variable "rollout_instance_warmup_seconds" {
  type        = number
  description = "How long a new member is left alone before the next one is replaced in a rollout."
  default     = 300
  nullable    = false

  validation {
    condition     = var.rollout_instance_warmup_seconds >= 0 && floor(var.rollout_instance_warmup_seconds) == var.rollout_instance_warmup_seconds
    error_message = "rollout_instance_warmup_seconds must be a whole number of at least 0."
  }
}

variable "root_volume_size_gib" {
  type        = number
  description = "Size of the root volume in GiB."
  default     = 40
  nullable    = false

  validation {
    condition     = var.root_volume_size_gib >= 8 && var.root_volume_size_gib <= 16384 && floor(var.root_volume_size_gib) == var.root_volume_size_gib
    error_message = "root_volume_size_gib must be a whole number between 8 and 16384."
  }
}

variable "spot" {
  type        = bool
  description = "Whether members run on spare capacity that AWS may take back."
  default     = false
  nullable    = false
}

variable "ssh_key_name" {
  type        = string
  description = "Name of the key pair that may log in."
  default     = null
}
