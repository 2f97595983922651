terraform {
  experiments = [provider_sensitive_attrs]
}
