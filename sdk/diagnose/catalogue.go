package diagnose

import (
	_ "embed" // catalogue.json is part of the package
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// catalogueJSON is generated from the provider's catalogue of conditions: go generate ./provider/internal/conditions.
//
//go:embed catalogue.json
var catalogueJSON []byte

// catalogueType is one type of condition of our kinds.
type catalogueType struct {
	Type     string            `json:"type"`
	Carriers []string          `json:"carriers"`
	Polarity string            `json:"polarity"`
	Ready    string            `json:"ready"`
	Reasons  []catalogueReason `json:"reasons"`
}

// catalogueReason is one status and reason of it.
type catalogueReason struct {
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	Meaning  string `json:"meaning"`
	Action   string `json:"action"`
	Progress bool   `json:"progress"`
}

// catalogue reads the catalogue once.
var catalogue = sync.OnceValue(func() []catalogueType {
	var types []catalogueType
	if err := json.Unmarshal(catalogueJSON, &types); err != nil {
		panic(fmt.Sprintf("reading catalogue.json, which is part of the program: %v", err)) // a test reads it too
	}
	return types
})

// bad tells that a status is the one to do something about.
func (t catalogueType) bad(status string) bool {
	return t.Polarity == "positive" && status == "False" || t.Polarity == "negative" && status == "True"
}

// reason finds the row of a condition.
func (t catalogueType) reason(status, name string) (catalogueReason, bool) {
	i := slices.IndexFunc(t.Reasons, func(r catalogueReason) bool { return r.Reason == name && r.Status == status })
	if i < 0 {
		return catalogueReason{}, false
	}
	return t.Reasons[i], true
}

// ourGates says at which gate a type of condition of ours stands; the deletion gate reads its own.
var ourGates = map[string]string{
	"Ready": gateCredentials, "DependenciesReady": gateInputs, "VariablesValid": gateInputs,
	"IdentityAllowed": gateCredentials, "CredentialsMirrored": gateCredentials, "RunnerRBACReady": gateCredentials,
	"StateReadable": gateState, "ApplyJobSucceeded": gateModule, "RestoreJobSucceeded": gateModule, "InputsApplied": gateRollout,
	"OutputsValid": gateOutputs, "InfrastructureHealthy": gateHealth, "EndpointAvailable": gateEndpoint,
	"Deleting": gateDeletion, "DeletionBlocked": gateDeletion, "Paused": gatePaused, "Approved": gateModule,
	"DriftJobSucceeded": gateUpkeep, "DriftDetected": gateUpkeep, "AutoscalingActive": gateUpkeep, "CapacityResolved": gateUpkeep,
}

// onlyNotes are gates at which nothing stands: what is shut there is worth knowing.
var onlyNotes = []string{gateUpkeep}

// silent are reasons that never say more than others do.
var silent = []string{"StateNotFound", "DriftNotChecked", "DriftJobRunning", "DurableInputsMissing", "VariablesSchemaUnavailable"}

// needPerson are reasons that are open, and stay so until somebody decides.
var needPerson = []string{"PlanAwaitingApproval", "PlanChanged"}

// oursAt is the check of a gate that conditions of our kinds stand at.
func oursAt(gate string) func(*inspection, *node) []*finding {
	return func(in *inspection, n *node) []*finding {
		if n.ref.Group != groupOurs || n.obj == nil {
			return nil
		}
		var out []*finding
		for _, t := range catalogue() {
			c, ok := n.condition(t.Type)
			if !ok || ourGates[t.Type] != gate || !slices.Contains(t.Carriers, n.ref.Kind) || (t.Type == "Ready" && n.role != roleIdentity) {
				continue
			}
			if f := in.judgeOurs(n, t, c, gate); f != nil {
				out = append(out, f)
			}
		}
		return out
	}
}

// judgeOurs makes a finding of a condition that is not as it should be.
func (in *inspection) judgeOurs(n *node, t catalogueType, c condition, gate string) *finding {
	row, known := t.reason(c.status, c.reason)
	bad := t.bad(c.status)
	switch {
	case !bad && c.status != "Unknown", t.Polarity == "state", slices.Contains(silent, c.reason):
		return nil
	case !bad && t.Ready != "always" && n.provisioned() && n.applied():
		return nil // it is asked for again when a Job is due
	case !bad && n.deleting() && !strings.HasPrefix(c.reason, "Waiting"), t.Type == "InputsApplied" && !n.provisioned():
		return nil
	case row.Progress && slices.Contains(onlyNotes, gate):
		return nil
	}
	f := &finding{
		state: StateWorking, field: c.field, reason: c.reason, message: c.message, since: c.since,
		action: row.Action, command: in.describe(n),
	}
	if c.message == "" || c.message == c.reason {
		f.message = row.Meaning
	}
	if !known {
		f.action = "read the condition's message: this captf is older than the provider and does not know the reason"
	}
	switch {
	case slices.Contains(onlyNotes, gate):
		f.state = StateNote
	case slices.Contains(needPerson, c.reason), bad && !row.Progress && t.Type != "InputsApplied": // which only says that the apply is not there yet
		f.state = StateStuck
	}
	f.on = in.ourNeeds(n, c)
	if extra, ok := ourExtras[c.reason]; ok {
		extra(in, n, f)
	}
	if active := n.str("status", "activeJob", "name"); active != "" && gate == gateModule && f.state == StateStuck {
		f.details = append(f.details, "a further try runs now: Job "+active)
	}
	return f
}

// applied tells that the current inputs are applied, as far as the object says.
func (n *node) applied() bool {
	c, ok := n.condition("InputsApplied")
	return !ok || c.status == "True"
}

// ourNeeds is what explains a condition of ours.
func (in *inspection) ourNeeds(n *node, c condition) []*node {
	infra, plane := in.root.child(roleInfraCluster), in.root.child(roleControlPlane)
	switch c.reason {
	case "WaitingForClusterInfrastructure", "WaitingForClusterExports", "WaitingForClusterOperation":
		return []*node{infra}
	case "WaitingForBootstrapData":
		on := []*node{n.parent.child(roleBootstrap), infra}
		if !n.parent.isTrue("status", "initialization", "bootstrapDataSecretCreated") && !n.parent.isTrue("status", "bootstrapReady") {
			on = append(on, n.parent) // which has not passed the data on
		}
		return on
	case "WaitingForOwnerMachine":
		return []*node{plane}
	case "WaitingForMachineOperations":
		var out []*node
		for _, m := range in.nodes {
			if m.ours() && m != n {
				out = append(out, m)
			}
		}
		return out
	case "IdentityNotFound", "SecretNotFound", "CredentialsIncomplete", "IdentityNotAllowed", "NamespaceNotAllowed":
		if n.role == roleIdentity {
			return nil
		}
		return []*node{n.identity}
	case "ImagePullFailed", "JobDeadlineExceeded", "ApplyFailed", "DestroyFailed":
		if job := n.child(roleJob); job != nil {
			return append([]*node{job}, job.children...)
		}
	case "MirrorPending", "NoApplyYet":
		return append([]*node{n.identity}, n.children...)
	}
	return nil
}

// ourExtras add to a finding what its reason leaves in other fields, and the command that helps most.
var ourExtras = map[string]func(*inspection, *node, *finding){
	"ApplyFailed":              lastRun,
	"DestroyFailed":            lastRun,
	"JobDeadlineExceeded":      lastRun,
	"ImageInvalid":             lastRun,
	"RestoreFailed":            lastRun,
	"DestructivePlanBlocked":   lastRun,
	"IdentityNotFound":         identities,
	"NamespaceNotAllowed":      editIdentity,
	"SecretNotFound":           identitySecret,
	"CredentialsIncomplete":    identitySecret,
	"ServiceAccountNotOptedIn": serviceAccount,
	"VariablesSourceNotFound":  variablesSources,
	"InstanceTerminated":       replaceMachine,
	"InstanceStopped":          replaceMachine,
	"ProviderIDChanged":        replaceMachine,
	"StateLost":                stateSecrets,
	"StateCorrupt":             stateSecrets,
	"StateInconsistent":        stateSecrets,
	"WaitingForJobSlot":        activeJobs,
	"WaitingForClusterExports": clusterOutputs,
	"ImagePullFailed":          imageReference,
}

// lastRun adds the step that failed and its resources.
func lastRun(in *inspection, n *node, f *finding) {
	job := n.str("status", "lastRun", "job")
	if job == "" {
		return
	}
	f.field = "status.lastRun.error"
	kind, step, summary := n.str("status", "lastRun", "error", "kind"), n.str("status", "lastRun", "error", "step"), n.str("status", "lastRun", "error", "summary")
	switch {
	case strings.Contains(f.message, "in step "+step) && step != "":
	case step != "":
		f.details = append(f.details, fmt.Sprintf("%s: step %s%s of Job %s failed%s", n.str("status", "lastRun", "operation"), step, exitCode(n, step), job, after(summary)))
	case kind != "" && !strings.Contains(f.message, job):
		f.details = append(f.details, fmt.Sprintf("%s: Job %s ended as %s%s", n.str("status", "lastRun", "operation"), job, kind, after(summary)))
	}
	if resources, ok := nested(n.obj.Object, "status", "lastRun", "error", "resources").([]any); ok {
		for _, r := range resources {
			if s := text(r); s != "" && !strings.Contains(f.message, s) {
				f.details = append(f.details, oneLine(s))
			}
		}
	}
	if f.field == "status.lastRun.error" && kind == "" {
		f.field = "status.lastRun"
	}
	f.command = append([]string{in.jobLogs(job)}, f.command...)
}

func after(summary string) string {
	if summary == "" {
		return ""
	}
	return ": " + oneLine(summary)
}

// exitCode says with which code a step of the last run ended.
func exitCode(n *node, step string) string {
	for _, s := range n.list("status", "lastRun", "steps") {
		if text(s["name"]) == step {
			return fmt.Sprintf(" (exit code %v)", s["exitCode"])
		}
	}
	return ""
}

// nested reads a field of any type; nil if it is not there.
func nested(m map[string]any, path ...string) any {
	var v any = m
	for _, p := range path {
		next, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = next[p]
	}
	return v
}

func identities(in *inspection, _ *node, f *finding) {
	f.field = "spec.identityRef"
	f.command = append([]string{in.Kubectl + " get terraformclusteridentities." + groupOurs}, f.command...)
}

func editIdentity(in *inspection, n *node, f *finding) {
	if n.identity != nil {
		f.command = append([]string{in.kubectl("edit", n.identity.ref)}, f.command...)
	}
}

// identitySecret names the Secret without reading it.
func identitySecret(in *inspection, n *node, f *finding) {
	id := n
	if n.identity != nil {
		id = n.identity
	}
	if name := id.str("spec", "secretRef", "name"); name != "" {
		f.command = append([]string{fmt.Sprintf("%s -n %s get secret %s", in.Kubectl, id.str("spec", "secretRef", "namespace"), name)}, f.command...)
	}
}

func serviceAccount(in *inspection, n *node, f *finding) {
	if name := n.str("spec", "jobs", "serviceAccountName"); name != "" {
		f.field = "spec.jobs.serviceAccountName"
		f.command = append([]string{fmt.Sprintf("%s -n %s label serviceaccount %s captf.io/runner=true", in.Kubectl, n.ref.Namespace, name)}, f.command...)
	}
}

func variablesSources(in *inspection, n *node, f *finding) {
	f.field = "spec.variablesFrom"
	f.command = append([]string{fmt.Sprintf("%s -n %s get configmaps,secrets -l captf.io/variables=true", in.Kubectl, n.ref.Namespace)}, f.command...)
}

// replaceMachine deletes the Machine, so that its owner makes another; a Machine without an owner is not made again.
func replaceMachine(in *inspection, n *node, f *finding) {
	m := n.parent
	if m == nil || m.role != roleMachine || m.obj == nil || len(m.obj.GetOwnerReferences()) == 0 {
		return
	}
	f.command = append(f.command, in.kubectl("delete", m.ref))
}

func stateSecrets(in *inspection, n *node, f *finding) {
	suffix := n.str("status", "stateSecretSuffix")
	if suffix == "" {
		return
	}
	f.command = append([]string{fmt.Sprintf("%s -n %s get secrets -l captf.io/state-backup=true -o name", in.Kubectl, n.ref.Namespace)}, f.command...)
	f.details = append(f.details, "the state's Secrets are tfstate-default-"+suffix+" and its parts; docs/provider-runner.md says how to put one back")
}

func activeJobs(in *inspection, n *node, f *finding) {
	f.command = append([]string{fmt.Sprintf("%s -n %s get jobs -l %s", in.Kubectl, n.ref.Namespace, managed)}, f.command...)
}

func clusterOutputs(in *inspection, _ *node, f *finding) {
	if infra := in.root.child(roleInfraCluster); infra != nil {
		f.command = in.describe(infra)
	}
}

func imageReference(in *inspection, n *node, f *finding) {
	if image := n.str("spec", "source", "image"); image != "" {
		f.field = "spec.source.image"
		f.details = append(f.details, "the image is "+image)
	}
}
