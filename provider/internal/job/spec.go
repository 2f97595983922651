package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Object is the object that a Job is for.
type Object struct {
	Role      contract.Role
	Namespace string
	Name      string
	UID       types.UID
}

// ObjectOf returns what a Job needs to know of an object.
func ObjectOf(w infrav1.Workspace) Object {
	return Object{Role: w.Role(), Namespace: w.GetNamespace(), Name: w.GetName(), UID: w.GetUID()}
}

// Spec is what a Job is built from.
type Spec struct {
	Object Object
	// Cluster is the name of the object's cluster.
	Cluster string

	// Operation, Attempt, InputsHash and Tick are those of the decision (operation.Decision).
	Operation  infrav1.Operation
	Attempt    int
	InputsHash string
	Tick       string

	// Image is the module's, and PullPolicy how it is pulled; IfNotPresent if empty.
	Image      Image
	PullPolicy corev1.PullPolicy
	// RunnerImage holds the runner, which is the broker too.
	RunnerImage string
	// Settings are the merged policies.
	Settings Settings
	// CredentialsSecret is the Secret with the identity's credentials, in the object's namespace; empty for none.
	CredentialsSecret string

	// Generation tells from which specs the Job is made (infrav1.AnnotationGeneration); empty if that does not matter.
	Generation string

	// Backups is how many backups of the state the broker keeps (B-450).
	Backups int
	// Events lets the runner report its steps as events of the object (B-619).
	Events bool

	// ForceUnlock is the ID of a stale lock that is broken first (B-433).
	ForceUnlock string
	// GuardDeletes stops the run before it deletes or replaces anything (B-602).
	GuardDeletes bool
	// AllowDeletesHash lifts the guard for inputs with this hash (B-604), ExpectPlan applies only a plan with this one (B-603).
	AllowDeletesHash string
	ExpectPlan       string

	// AfterFailedApply tells that the newest apply had failed when the Job was started; AfterUnconfirmedApply is the apply
	// whose outcome was not known then, which the success of this one settles (B-148).
	AfterFailedApply      bool
	AfterUnconfirmedApply string
}

// Name is the name of the Job. It does not depend on which of an image's candidates is run, so that a Job that falls back to
// another one keeps its name (B-173).
func (s Spec) Name() string {
	op := string(s.Operation)
	return names.Job(s.Object.Role, s.Object.Name, op, s.Attempt, names.JobHash(s.InputsHash, s.Image.Reference, op, s.Attempt, s.Tick))
}

// NeedsPlanKey tells that the broker of a Job needs the key of the object's plan hashes (B-383): where a plan is made that may
// have to be approved. A machine's applies are never held back.
func NeedsPlanKey(role contract.Role, op infrav1.Operation) bool {
	return op == infrav1.OperationPlan || op == infrav1.OperationApply && role != contract.RoleMachine
}

// ownerLabels are the labels by which an object's Jobs are listed.
func ownerLabels(o Object) map[string]string {
	return map[string]string{
		infrav1.LabelOwnerKind: o.Role.Kind(),
		infrav1.LabelOwnerName: names.LabelValue(o.Name),
	}
}

// Selector selects the Jobs of an object; their controller tells them from those of an earlier one of its name (B-023).
func Selector(o Object) map[string]string { return ownerLabels(o) }
