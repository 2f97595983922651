variable   "bootstrap_data"   {
 type=string
}


variable "captf_contract" {type=string}