package scenario

//go:generate go run ./internal/docgen ../../../docs/reference
