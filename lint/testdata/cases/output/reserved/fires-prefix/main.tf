output "captf_id" {
  value = 1
}
