module "outside" {
  source = "/srv/modules/network"
}

module "url" {
  source = "file:///srv/modules/network"
}

module "drive" {
  source = "C:\\modules\\network"
}

module "inside" {
  source = "./a"
}
