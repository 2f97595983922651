provider "example" {
  auth {
    basic {
      password = ("hunter2")
    }
  }
}
