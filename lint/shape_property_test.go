package lint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
	"github.com/captf-toolkit/captf/lint"
)

// TestLiteralsAreJudgedAsTheControllerDoes writes random values as literals of
// an output: output/shape and output/limits must find exactly what the contract
// finds in the decoded value.
func TestLiteralsAreJudgedAsTheControllerDoes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		role := rapid.SampledFrom(contract.Roles()).Draw(t, "role")
		row := rapid.SampledFrom(versions.Default().Spec(role).Outputs).Draw(t, "output")
		value := valueOf(row.Shape).Draw(t, "value")
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		syntax := rapid.SampledFrom([]string{"main.tf", "main.tf.json"}).Draw(t, "syntax")
		source := fmt.Sprintf("output %q {\n  value = %s\n}\n", row.Name, text)
		if syntax == "main.tf.json" {
			source = fmt.Sprintf("{\"output\": {%q: {\"value\": %s}}}\n", row.Name, text)
		}
		for _, name := range []string{"main.tf", "main.tf.json"} {
			_ = os.Remove(filepath.Join(dir, name))
		}
		if err := os.WriteFile(filepath.Join(dir, syntax), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		report, err := lint.Run(options(dir, role))
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		got := map[string]bool{}
		for _, f := range report.Findings {
			if f.ID != "output/shape" && f.ID != "output/limits" {
				continue
			}
			if f.Severity != lint.SeverityError {
				t.Fatalf("a literal is certain, but the finding is %s: %s", f.Severity, f.Message)
			}
			got[strings.Fields(f.Message)[1]] = true
		}
		want := map[string]bool{}
		for _, v := range judge(t, row, text) {
			want[v.Path] = true
		}
		if fmt.Sprint(keys(got)) != fmt.Sprint(keys(want)) {
			t.Fatalf("%s\nfound at %q, the contract finds %q", source, keys(got), keys(want))
		}
	})
}

// judge returns what the contract finds in an output's value.
func judge(t *rapid.T, row contract.Output, text []byte) contract.Violations {
	value, bad := contract.ParseJSON(row.Name, text)
	if bad != nil {
		t.Fatal(bad)
	}
	shape := row.Shape
	if row.EmptyIsNull && value == "" {
		value = nil
	}
	if value == nil {
		if row.Null == contract.NullPending || row.Null == contract.NullInvalid {
			return contract.Violations{{Path: row.Name}}
		}
		return nil
	}
	if shape.Kind == contract.KindAny {
		return nil
	}
	found := shape.Validate(row.Name, value).With(contract.ReasonInvalid)
	// What is valid for now, but not for good, is for the linter alone to find.
	if object, ok := value.(map[string]any); ok && row.Name == "health" && object["state"] == string(contract.HealthPending) {
		found = append(found, contract.Violation{Path: row.Name + ".state"})
	}
	return found
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// anything is a value that mostly fits nowhere.
func anything() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("x"), rapid.Just[any](""), rapid.Just[any](1.5),
		rapid.Map(rapid.IntRange(-1, 70000), func(n int) any { return n }),
		rapid.Just[any]([]any{}), rapid.Just[any]([]any{"x", 1}), rapid.Just[any](map[string]any{}), rapid.Just[any](map[string]any{"host": "x"}),
	)
}

// valueOf makes values that mostly fit the shape.
func valueOf(s contract.Shape) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 9).Draw(t, "stray") == 0 {
			return anything().Draw(t, "anything")
		}
		switch s.Kind {
		case contract.KindString:
			if len(s.Enum) > 0 {
				return rapid.SampledFrom(s.Enum).Draw(t, "word")
			}
			return rapid.SampledFrom([]string{"a", "b", "aws:///x/i-1", "a b", strings.Repeat("y", 600)}).Draw(t, "text")
		case contract.KindInteger:
			return rapid.IntRange(-2, 70000).Draw(t, "number")
		case contract.KindBool:
			return rapid.Bool().Draw(t, "bool")
		case contract.KindList:
			n := rapid.IntRange(0, 3).Draw(t, "length")
			list := make([]any, 0, n)
			for range n {
				list = append(list, valueOf(*s.Elem).Draw(t, "item"))
			}
			return list
		case contract.KindMap:
			return map[string]any{"k": valueOf(*s.Elem).Draw(t, "item")}
		case contract.KindObject:
			object := map[string]any{"extra": 1}
			for _, a := range s.Attributes {
				if rapid.IntRange(0, 9).Draw(t, "absent") > 0 {
					object[a.Name] = valueOf(a.Shape).Draw(t, a.Name)
				}
			}
			return object
		}
		return anything().Draw(t, "anything")
	})
}
