terraform {
  # No required_providers: terraform_data is built into both runtimes since 1.4.
  # The language used here needs no more than 1.5.
  required_version = ">= 1.5.0"
}
