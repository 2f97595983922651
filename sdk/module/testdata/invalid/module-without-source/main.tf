module "m" {
}
