terraform {
  language = TF2077
}
