// Package names computes the names of the objects that the provider keeps for a user's object: its Jobs, Secrets, Leases
// and labels. All of them are functions of what they are for, so that two managers, or one before and after a crash, that
// decide the same thing name the same object (B-144).
//
// Not in this package: the names that a module author meets too, which are the contract's (contract.StateSuffix,
// contract.InputsSecretName, contract.AppliedSecretName), and label and annotation keys (provider/api/v1alpha1).
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

const (
	// maxJob is the longest name of a Job whose pod's name, six characters longer, still is a host name (B-131).
	maxJob = 57
	// maxLabel is the longest value of a label.
	maxLabel = 63
	// maxObject is the longest name of a Secret.
	maxObject = 253
)

// Names that do not depend on an object.
const (
	// ServiceAccount is the ServiceAccount of Jobs, in each namespace (B-515).
	ServiceAccount = "captf-runner"
	// RoleBinding binds the ServiceAccounts of a namespace's Jobs to ClusterRole.
	RoleBinding = "captf-runner"
	// ClusterRole is what a Job's broker may do.
	ClusterRole = "captf-runner"
	// LeaderElection is the Lease of the leading manager (B-905).
	LeaderElection = "controller-leader-election-captf"
)

// Job returns the name of a Job (B-130): captf-<kind>-<name>-<op>-a<attempt>-<hash6>. An object's name that would make it
// longer than 57 characters is replaced by a hash of it.
func Job(role contract.Role, name, op string, attempt int, hash6 string) string {
	format := func(name string) string {
		return fmt.Sprintf("captf-%s-%s-%s-a%d-%s", role.ShortKind(), name, op, attempt, hash6)
	}
	if job := format(name); len(job) <= maxJob {
		return job
	}
	return format(hash16(name))
}

// JobHash returns the end of a Job's name (B-132): six hex digits of a hash of what the Job does. The tick tells apart
// operations that are repeated with equal inputs (B-133).
func JobHash(inputsHash, image, op string, attempt int, tick string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{inputsHash, image, op, strconv.Itoa(attempt), tick}, "\x00")))
	return hex.EncodeToString(sum[:])[:6]
}

// RunSecret returns the name of the Secret with the inputs of one Job (B-362).
func RunSecret(job string) string { return "captf-run-" + job }

// PlanKeySecret returns the name of the Secret with the key of an object's plan hashes (B-363).
func PlanKeySecret(role contract.Role, name string) string {
	return object("captf-plankey-" + role.ShortKind() + "-" + name)
}

// Mirror returns the name of the copy of an identity's credentials (B-364).
func Mirror(identity string) string { return object("captf-creds-" + identity) }

// RunLease returns the name of the Lease that lets one Job of an object run at a time (B-210). The suffix is the
// object's contract.StateSuffix.
func RunLease(suffix string) string { return "captf-run-" + suffix }

// ClusterLease returns the name of the Lease that keeps a cluster's operations from those of its machines and pools (B-211).
func ClusterLease(namespace, cluster string) string {
	return "captf-cluster-" + hash16(namespace+"/"+cluster)
}

// LockLease returns the name of the Lease that is the lock of a state (B-401).
func LockLease(suffix string) string { return "lock-tfstate-default-" + suffix }

// LabelValue returns a name as the value of a label: as it is up to 63 characters, else a hash of it (B-135).
func LabelValue(name string) string {
	if len(name) <= maxLabel {
		return name
	}
	return hash16(name)
}

// StateLabels are the labels of the Secrets with an object's state, beside those of the runtimes' own backends (B-403). They
// must never change during the life of an object: a stock Terraform that is given them finds the parts of a state by them.
func StateLabels(role contract.Role, name, cluster string) map[string]string {
	return map[string]string{
		infrav1.LabelOwnerKind: role.Kind(),
		infrav1.LabelOwnerName: LabelValue(name),
		infrav1.LabelCluster:   LabelValue(cluster),
		infrav1.LabelManaged:   "true",
		infrav1.LabelMove:      "",
	}
}

// object shortens a name that is too long for an object: its beginning, then a hash of the whole (B-366).
func object(name string) string {
	if len(name) <= maxObject {
		return name
	}
	hash := hash16(name)
	return strings.TrimRight(name[:maxObject-len(hash)-1], "-.") + "-" + hash
}

func hash16(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:16]
}
