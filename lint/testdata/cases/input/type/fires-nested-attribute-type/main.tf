variable "cluster_network" {
  type = object({
    pods            = list(number)
    services        = list(string)
    service_domain  = string
    api_server_port = number
  })
}
