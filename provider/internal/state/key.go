package state

import (
	"maps"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/names"
)

// Limits (B-404, B-406, B-983).
const (
	// PartSize is the largest part in bytes, which is also what the API server accepts in a Secret and where Terraform's
	// backend splits.
	PartSize = 1 << 20
	// MaxParts is the largest number of Secrets of a state.
	MaxParts = 32
	// MaxBytes is the largest state, decompressed.
	MaxBytes = 64 << 20
)

const (
	secretKey   = "tfstate" // of the data in each Secret
	labelState  = "tfstate"
	labelSuffix = "tfstateSecretSuffix"
	labelSpace  = "tfstateWorkspace"
	labelBy     = "app.kubernetes.io/managed-by"

	stateTrue     = "true"      // labelState of what stock clients read
	stateStaged   = "staged"    // labelState of a part that is not in its place yet
	stateSetAside = "set-aside" // labelState of a Secret that was in the way of a forced write
	workspace     = "default"

	annotationEncoding = "encoding"
	annotationPart     = "captf.io/state-part"
	annotationFence    = "captf.io/state-fence"
	annotationApply    = "captf.io/state-apply" // the Job whose apply wrote the version, until that is known to have succeeded
	encodingGzip       = "gzip"
)

// Key says which state is meant, and what is written on its objects.
type Key struct {
	// Namespace of the Secrets and the Lease.
	Namespace string
	// Suffix of their names: contract.StateSuffix (B-400). It must not end in a number, which Terraform would take for the
	// index of a part.
	Suffix string
	// Labels are the five of B-403, beside those of the stock backends. They are needed for writing only. A Lease gets
	// them without clusterctl's move label (design D12).
	Labels map[string]string
}

// KeyFor returns the key of an object's state, without labels: enough to read, lock, adopt and delete.
func KeyFor(role contract.Role, namespace, name string) Key {
	return Key{Namespace: namespace, Suffix: contract.StateSuffix(role, namespace, name)}
}

// Secret returns the name of the Secret with a part, from 0 (B-401).
func (k Key) Secret(part int) string {
	name := "tfstate-default-" + k.Suffix
	if part > 0 {
		name += "-part-" + strconv.Itoa(part)
	}
	return name
}

// Lease returns the name of the lock (B-401).
func (k Key) Lease() string { return names.LockLease(k.Suffix) }

// part is the inverse of Secret; ok is false for an odd name.
func (k Key) part(name string) (index int, ok bool) {
	if name == k.Secret(0) {
		return 0, true
	}
	number, found := strings.CutPrefix(name, k.Secret(0)+"-part-")
	if !found {
		return 0, false
	}
	index, err := strconv.Atoi(number)
	return index, err == nil && index > 0 && k.Secret(index) == name
}

// staged returns the name of the Secret that a part of a version waits in.
func (k Key) staged(version string, part int) string {
	return "captf-state-staged-" + k.Suffix + "-" + version[:16] + "-part-" + strconv.Itoa(part)
}

// stock returns the labels that the stock backends write and, but for the last, select by (B-402).
func (k Key) stock() map[string]string {
	return map[string]string{labelState: stateTrue, labelSuffix: k.Suffix, labelSpace: workspace, labelBy: "terraform"}
}

// secretLabels returns all labels of a Secret.
func (k Key) secretLabels() map[string]string {
	labels := k.stock()
	maps.Copy(labels, k.Labels)
	return labels
}

// leaseLabels returns all labels of the Lease.
func (k Key) leaseLabels() map[string]string {
	labels := k.secretLabels()
	delete(labels, infrav1.LabelMove)
	return labels
}
