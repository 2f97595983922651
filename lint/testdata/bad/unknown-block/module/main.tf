variables "a" {}
