variables "x" {}
