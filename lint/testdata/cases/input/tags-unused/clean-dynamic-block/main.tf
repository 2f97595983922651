variable "captf_tags" {
  type = map(string)
}

resource "aws_autoscaling_group" "this" {
  dynamic "tag" {
    for_each = var.captf_tags
    content {
      key   = tag.key
      value = tag.value
    }
  }
}
