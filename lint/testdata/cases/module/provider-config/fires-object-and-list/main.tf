provider "example" {
  settings = {
    region = "x"
    "token" = "abc"
  }
  accounts = [{ client_secret = "abc" }]
  api_key  = ["abc"]
}
