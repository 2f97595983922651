check "x" {}
