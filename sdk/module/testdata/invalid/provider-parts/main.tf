terraform {
  required_providers {
    a = {
      source = "a--b/c"
    }
    b = {
      source = "/c"
    }
    c = {
      source = 3
    }
    d = {
      source = "no host/a/b"
    }
    e = {
      source                = "x/e"
      configuration_aliases = [e.a.b, e["x"], e + 1]
    }
    f = "new"
    g = {
      (var.x) = "1"
    }
  }
}
provider "terraform" {
  alias    = upper("x")
  version  = "new"
}
provider "x-" {}
