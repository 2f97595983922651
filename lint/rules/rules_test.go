package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/lint/rules"
)

func TestRulesAreComplete(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+/[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, r := range rules.All() {
		if !id.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("the ID %q is malformed or taken", r.ID)
		}
		seen[r.ID] = true
		if len(r.Severities) == 0 || len(r.Rules) == 0 {
			t.Errorf("%s has no severity or no source", r.ID)
		}
		for what, text := range map[string]string{"summary": r.Summary, "why": r.Why, "fix": r.Fix} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: the %s is no sentence: %q", r.ID, what, text)
			}
		}
		if r.Bad == "" || r.Good == "" {
			t.Errorf("%s has no examples", r.ID)
		}
		if (r.Check == nil) != (r.ID == lint.SuppressionID) {
			t.Errorf("%s: the check function is wrong", r.ID)
		}
	}
}

// TestIdentifiersOfTheReference holds the IDs, severities and roles that other
// people's CI files rely on (lint.md 4 and 8).
func TestIdentifiersOfTheReference(t *testing.T) {
	const (
		e = lint.SeverityError
		w = lint.SeverityWarning
		i = lint.SeverityInfo
	)
	for id, want := range map[string][]lint.Severity{
		"input/required": {e}, "input/type": {e, w}, "input/default": {w}, "input/sensitive": {w}, "input/reserved": {e},
		"input/tags-declared": {e}, "input/tags-unused": {w}, "input/user-variable-default": {w},
		"output/required": {e}, "output/health": {e}, "output/reserved": {w}, "output/endpoint-never-set": {w},
		"output/provider-id-list-shape": {e, w}, "pool/autoscaling-ignore-changes": {w},
		"module/backend": {e}, "module/cloud": {e}, "module/provider-config": {w}, "module/source-escape": {e},
		"module/tofu-shadow": {w}, "module/version": {i},
		"output/shape": {e, i}, "output/limits": {e, i}, "output/exports-number": {e, i}, "output/exports-secret": {i},
		"output/sensitive": {i}, "input/user-variable-name": {e, i}, "input/nullable": {e, w}, "module/ephemeral": {e, i},
		"module/nondeterministic": {i}, "module/remote-source": {i}, "module/provider-pin": {i}, "module/syntax-floor": {e, i},
		"input/unused": {i}, "pool/bootstrap-replace": {i}, "cluster/endpoint-protect": {i},
		"cp/cluster-members": {w, i}, "cp/supervisor-listener": {i}, "cp/registration": {i}, "cp/registration-waits": {w, i},
		"cp/member-list": {w}, "cp/failure-domain-echo": {w}, "cp/addresses": {w, i}, "cp/workload-api": {w},
	} {
		r, ok := lint.Find(rules.All(), id)
		if !ok {
			t.Errorf("%s is missing", id)
			continue
		}
		if len(r.Severities) != len(want) || r.Severities[0] != want[0] || r.Severities[len(want)-1] != want[len(want)-1] {
			t.Errorf("%s has severities %v, want %v", id, r.Severities, want)
		}
	}
}

// notRunnable are the checks whose examples need more than one file.
var notRunnable = map[string]bool{"module/tofu-shadow": true, "module/source-escape": true, "module/remote-source": true}

// exampleRoles are the roles of examples that only make sense in one of several.
var exampleRoles = map[string]contract.Role{"input/unused": contract.RoleMachinePool, "output/limits": contract.RoleCluster, "cp/workload-api": contract.RoleCluster}

// subjects say what the examples of a check are about, where a small module has
// more findings of the check.
var subjects = map[string]string{"input/required": `"machine_name"`, "output/required": `"provider_id"`}

// TestExamplesDoWhatTheySay runs the examples of the reference page.
func TestExamplesDoWhatTheySay(t *testing.T) {
	for _, r := range rules.All() {
		if notRunnable[r.ID] {
			continue
		}
		role := contract.RoleMachine
		if len(r.Roles) > 0 {
			role = r.Roles[0]
		}
		if other, ok := exampleRoles[r.ID]; ok {
			role = other
		}
		if !fires(t, r, role, r.Bad) {
			t.Errorf("%s does not fire on its bad example", r.ID)
		}
		if fires(t, r, role, r.Good) {
			t.Errorf("%s fires on its good example", r.ID)
		}
	}
}

func fires(t *testing.T, r lint.Rule, role contract.Role, text string) bool {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := lint.Run(lint.Options{Dir: dir, Role: role, Contract: versions.Default(), Rules: rules.All()})
	if err != nil {
		t.Errorf("%s: the example does not parse: %v", r.ID, err)
		return false
	}
	for _, f := range report.Findings {
		if f.ID == r.ID && f.Allowed == "" && strings.Contains(f.Message, subjects[r.ID]) {
			return true
		}
	}
	return false
}
