action "x_y" "z" {
  config {}
}
