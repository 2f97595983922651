package module

func providerAddress(name, source string, r Runtime) string { return "" }
