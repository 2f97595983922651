// Package runtime runs OpenTofu or Terraform in a working directory that the
// caller has filled, and reports what happened as typed values.
//
// It finds a usable binary ([Find]), opens a directory ([Binary.Workdir]) and
// offers the verbs of the runtime as methods: Init, Validate, Plan, Apply,
// Refresh, Destroy, ShowState, ShowPlan, Outputs and State. Each run goes
// through the runtime's -json stream where there is one, so that diagnostics
// keep their address, file and line (design D7).
//
// Three promises hold for every run:
//
//   - Interrupting is gentle. A cancelled context or a passed deadline sends one
//     SIGINT to the runtime and waits for the grace period; only then is the
//     whole process group killed. A second signal is never sent early, because
//     it makes the runtime drop the object that it is creating.
//   - Nothing is left running. When a run returns, no process of its group is
//     alive, provider plugins and provisioner commands included.
//   - Memory is bounded and secrets stay out. Lines, logs and documents have
//     limits, and registered secrets are replaced before a byte reaches a log,
//     an event, a diagnostic or an error.
//
// Not in this package: writing the generated root and its variables (package
// contract), reading modules (package sdk/module), judging outputs, installing
// a runtime, and any knowledge of roles or of Kubernetes.
package runtime
