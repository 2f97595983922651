module "gone" {
  source = "./gone"
}
module "file" {
  source = "./main.tf"
}
module "empty" {
  source = "./docs"
}
