package runner

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/runtime"
)

// moduleAddress is where the generated root calls the module (contract.md 12).
const moduleAddress = "module.role"

// relative strips the generated root's module call from an address.
func relative(address string) string {
	if address == moduleAddress {
		return ""
	}
	return strings.TrimPrefix(address, moduleAddress+".")
}

// failure tells a module that failed, which is a result, from a runtime that
// could not run, which is an error (harness.md H3).
func failure(err error) (failed bool, fatal error) {
	if err == nil {
		return false, nil
	}
	var re *runtime.RunError
	if !errors.As(err, &re) {
		return false, err
	}
	if re.Interrupted || re.Timeout || re.Killed || re.Signal != "" || re.Err != nil || len(re.Diagnostics) == 0 {
		return false, err
	}
	// A full disk is nobody's module.
	if slices.ContainsFunc(re.Diagnostics, func(d runtime.Diagnostic) bool {
		return strings.Contains(d.Summary+d.Detail, "no space left on device")
	}) {
		return false, err
	}
	return true, nil
}

// located tells that an error lies in a file that the runtime read.
func located(err error) bool {
	var re *runtime.RunError
	return errors.As(err, &re) && slices.ContainsFunc(re.Diagnostics, func(d runtime.Diagnostic) bool { return d.File != "" })
}

// diagnostics converts messages, errors first. Places in the module are named
// as the user gave its directory; places in generated files are left out.
func (o *object) diagnostics(list []runtime.Diagnostic) []harness.Diagnostic {
	out := make([]harness.Diagnostic, 0, len(list))
	for _, d := range list {
		hd := harness.Diagnostic{
			Severity: string(d.Severity), Summary: d.Summary, Detail: d.Detail, Address: relative(d.Address),
		}
		if file, ok := o.sourceFile(d.File); ok {
			d.File = file
			hd.Range = d.Place()
		}
		out = append(out, hd)
	}
	slices.SortStableFunc(out, func(a, b harness.Diagnostic) int {
		return boolCompare(b.Severity == string(runtime.SeverityError), a.Severity == string(runtime.SeverityError))
	})
	return out
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// sourceFile names a file as the user would; ok is false for generated ones.
func (o *object) sourceFile(file string) (string, bool) {
	if file == "" {
		return "", false
	}
	for _, base := range []string{o.role.member.real, o.role.faultDir()} {
		rel, err := filepath.Rel(base, file)
		if err == nil && filepath.IsLocal(rel) && filepath.Base(rel) != faultFile {
			return filepath.Join(o.role.member.dir, rel), true
		}
	}
	if rel, err := filepath.Rel(o.role.dir, file); err == nil && filepath.IsLocal(rel) {
		return "", false
	}
	return file, true
}
