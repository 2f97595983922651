terraform {
  required_providers {
    a = {
      source = "a/b/c/d"
    }
    b = {
      source  = "x/y"
      version = "new"
    }
    c = {
      sauce = "x/y"
    }
    d = ["x"]
    E = {
      source = "x/y"
    }
    f = {
      source = "team/terraform-provider-f"
    }
    g = {
      source                = "x/g"
      configuration_aliases = [h.a]
    }
  }
}
