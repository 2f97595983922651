moved {
  from = terraform_data.a
}
moved {
  from = "text ${1}"
  to   = terraform_data.b
}
removed {
  form = terraform_data.a
}
