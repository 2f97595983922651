// Package conditions sets the conditions of the provider's objects and knows all of them: which there are, who carries them,
// which status is the bad one, which of them decide on Ready, and which event a change of one is told with. The catalogue is
// data; the reference pages of conditions and events, and what captf diagnose knows of them, are generated from it.
//
// Not in this package: names of types and reasons (provider/api/v1alpha1), and the decision which of them holds
// (provider/internal/inputs, provider/internal/outputs, provider/internal/controllers and their neighbours).
package conditions

//go:generate go run ./internal/docgen ../../../docs/reference ../.. ../../../sdk/diagnose
