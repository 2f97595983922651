package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	reflector "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// schemaPath is the checked-in schema of the JSON report.
const schemaPath = "../../docs/reference/harness-report.schema.json"

// results are the runs that the golden files show.
func results() map[string]*harness.Result {
	modules := map[contract.Role]string{contract.RoleCluster: "set/cluster", contract.RoleMachine: "set/machine"}
	timing := harness.Timing{Total: 3.512, Runtime: 3.2049, Runs: 41}
	base := harness.Result{
		Verdict: harness.VerdictPassed, Scenario: "life", ControlPlane: "kcp", Seed: 1, Runtime: "OpenTofu 1.12.6",
		Modules: modules, Timing: timing,
		Steps: []harness.StoryStep{
			{At: 0, Type: harness.EventAsked, Actor: "user", Object: "Cluster/demo", Event: "the user creates a cluster"},
			{At: 97.4, Type: harness.EventRunEnded, Actor: "captf", Object: "TerraformCluster/demo", Event: "apply ends: 1 created", Op: harness.OpApply, Took: 0.0634},
		},
		Requirements: []harness.Requirement{
			{ID: "CP-040", Role: contract.RoleMachine, Status: harness.StatusPassed, Level: "MUST", Title: "emit the id that the Node carries"},
			{ID: "CP-001", Role: contract.RoleCluster, Status: harness.StatusPassed, Level: "MUST", Title: "emit a valid endpoint", Evidence: []string{"198.51.100.1:6443 after the first apply"}},
			{ID: "CP-060", Role: contract.RoleMachinePool, Status: harness.StatusNotApplicable, Level: "MUST", Title: "join no control-plane backend", Reason: "the set has no pool"},
			{ID: "CP-061", Role: contract.RoleMachinePool, Status: harness.StatusNotApplicable, Level: "MUST", Title: "take new bootstrap data", Reason: "the set has no pool"},
			{ID: "CP-017", Role: contract.RoleCluster, Status: harness.StatusNotApplicable, Level: "MUST", Title: "another", Reason: "allowed: it is known"},
			{ID: "CP-018", Role: contract.RoleCluster, Status: harness.StatusManual, Level: "MUST", Title: "the health check needs no client certificate", Reason: "Does the health check pass without a client certificate?"},
		},
	}
	failed := base
	failed.Verdict = harness.VerdictFailed
	failed.Requirements = append([]harness.Requirement{
		{ID: "contract/provider_id", Role: contract.RoleMachine, Status: harness.StatusFailed, Level: "MUST", Title: "satisfy the contract for provider_id",
			Reason: "the module does not declare the output provider_id", Remedy: "declare it; see the contract reference"},
		{ID: "CP-035", Role: contract.RoleMachine, Status: harness.StatusFailed, Level: "MUST", Title: "destroy removes its own membership and nothing else's",
			Reason: "destroying demo-cp-1 changed demo-cp-2", Evidence: []string{"update of aws_lb.x", "on <stdout> & \"more\""}, Remedy: "keep the attachment in the machine's state"},
	}, base.Requirements...)
	failed.Notes = []harness.Note{
		{Role: contract.RoleCluster, Message: "the block backend \"s3\" has no effect", Place: "set/cluster/main.tf:2"},
		{Role: contract.RoleMachine, Message: "health is unknown"},
	}
	failed.Left = []string{"TerraformMachine/demo-cp-1", "TerraformCluster/demo"}
	failed.Kept = "/tmp/captf-harness-1"

	stalled := base
	stalled.Verdict, stalled.Requirements = harness.VerdictFailed, base.Requirements[1:]
	stalled.Stalled = &harness.Stall{
		Gate: "captf/provider-id", WaitsFor: "a provider_id that is not null", Object: "Machine/demo-cp-1", Output: "machine.provider_id",
		Requirement: "CP-040", Message: "the Machine never gets a providerID, so nothing joins", Remedy: "emit the provider id as soon as the instance exists", At: 3724.6,
	}
	broken := harness.Result{
		Verdict: harness.VerdictError, Scenario: "life", ControlPlane: "kcp", Runtime: "OpenTofu 1.12.6",
		Error: "running apply for TerraformCluster/demo: interrupted\nand a second line",
	}
	hostile := base
	hostile.Scenario = "li\x1b[31mfe\n\x00"
	hostile.Requirements = []harness.Requirement{{
		ID: "contract/a]]>b", Role: "not/a<role", Status: harness.StatusFailed, Level: "MUST\x07",
		Title: "title\r\nsecond", Reason: "\x1b]0;owned\x07 <b>&amp;</b> ]]> \u202Ertl\u2028", Evidence: []string{"\xff\xfe", ""}, Remedy: "\ufffe",
	}}
	hostile.Notes = []harness.Note{{Role: "ro<le", Message: "note\r\n\x1b[31m ]]>", Place: "\x07"}}
	return map[string]*harness.Result{"passed": &base, "failed": &failed, "stalled": &stalled, "error": &broken, "hostile": &hostile}
}

func write(t testing.TB, fn func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := fn(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	for name, r := range results() {
		t.Run(name, func(t *testing.T) {
			golden.Assert(t, filepath.Join("testdata", name+".txt"), write(t, func(w io.Writer) error { return report.Text(w, r, report.TextOptions{}) }))
			golden.Assert(t, filepath.Join("testdata", name+".json"), write(t, func(w io.Writer) error { return report.JSON(w, r) }))
			golden.Assert(t, filepath.Join("testdata", name+".xml"), write(t, func(w io.Writer) error { return report.JUnit(w, r) }))
		})
	}
	golden.Assert(t, filepath.Join("testdata", "questions.txt"),
		write(t, func(w io.Writer) error {
			return report.Text(w, results()["passed"], report.TextOptions{Questions: true})
		}))
	golden.Assert(t, filepath.Join("testdata", "failed.colors.txt"),
		write(t, func(w io.Writer) error { return report.Text(w, results()["failed"], report.TextOptions{Colors: true}) }))
}

func TestStory(t *testing.T) {
	steps := []harness.StoryStep{
		{Actor: "user", Object: "Cluster/demo", Event: "the user creates a cluster"},
		{At: 97.4, Type: harness.EventRunEnded, Actor: "captf", Object: "TerraformCluster/demo", Event: "apply ends: 1 created", Op: harness.OpApply, Took: 0.0634},
		{At: 3599.6, Actor: "captf", Object: "TerraformMachine/demo-control-plane-with-a-long-name", Event: "apply fails: main.tf:3:1: no\nway\x1b[2J", Op: harness.OpApply, Took: 12.3456},
		{At: 360000, Actor: "a-very-long-actor", Object: "", Event: "", Took: 3601},
	}
	for file, colors := range map[string]bool{"story.txt": false, "story.colors.txt": true} {
		var b bytes.Buffer
		s := report.NewStory(&b, colors)
		for _, step := range steps {
			s.Step(step)
		}
		golden.Assert(t, filepath.Join("testdata", file), b.Bytes())
	}
}

// TestPlainWithoutColors: a text without colours has no control characters at all.
func TestPlainWithoutColors(t *testing.T) {
	for name, r := range results() {
		checkPlain(t, name, write(t, func(w io.Writer) error { return report.Text(w, r, report.TextOptions{}) }))
	}
}

func checkPlain(t *testing.T, name string, text []byte) {
	t.Helper()
	for _, c := range string(text) {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028') {
			t.Errorf("%s: the text holds %U: %q", name, c, text)
			return
		}
	}
}

// TestSchema generates the schema of the JSON report from the Go types and
// their comments, and validates reports with the file that is checked in.
func TestSchema(t *testing.T) {
	golden.Assert(t, schemaPath, generateSchema(t))
	schema, err := jsonschema.NewCompiler().Compile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(raw []byte) error {
		t.Helper()
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc)
	}
	for name, r := range results() {
		if name == "hostile" {
			continue // it has a role that there is not
		}
		if err := validate(write(t, func(w io.Writer) error { return report.JSON(w, r) })); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	list := write(t, func(w io.Writer) error { return report.JSON(w, results()["passed"], results()["stalled"]) })
	if err := validate(list); err != nil {
		t.Errorf("a list of reports: %v", err)
	}
	for what, doc := range map[string]string{
		"no report in the list":        "[]",
		"a list in the list":           "[" + string(list) + "," + string(list) + "]",
		"something else in the list":   "[1, 2]",
		"a text":                       `"passed"`,
		"one that is broken among two": strings.Replace(string(list), `"verdict": "failed"`, `"verdict": "fine"`, 1),
	} {
		if validate([]byte(doc)) == nil {
			t.Errorf("%s: the schema accepts it", what)
		}
	}
	valid := string(write(t, func(w io.Writer) error { return report.JSON(w, results()["stalled"]) }))
	for what, change := range map[string][2]string{
		"unknown verdict":   {`"verdict": "failed"`, `"verdict": "fine"`},
		"unknown status":    {`"status": "manual"`, `"status": "skipped"`},
		"unknown role":      {`"role": "cluster"`, `"role": "network"`},
		"no gate":           {`"gate":`, `"gait":`},
		"steps null":        {`"steps": [`, `"steps": null, "x": [`},
		"time as text":      {`"at": 0`, `"at": "0"`},
		"stalled as a list": {`"stalled": {`, `"stalled": [], "x": {`},
	} {
		broken := strings.Replace(valid, change[0], change[1], 1)
		if broken == valid {
			t.Errorf("%s: %s is not in the report", what, change[0])
		}
		if validate([]byte(broken)) == nil {
			t.Errorf("%s: the schema accepts it", what)
		}
	}
}

func values[T any](list []T) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

// enums are the types whose values are fixed.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[harness.EventType](): values(harness.EventTypes()),
	reflect.TypeFor[harness.Verdict]():   {harness.VerdictPassed, harness.VerdictFailed, harness.VerdictError},
	reflect.TypeFor[harness.Status]():    {harness.StatusPassed, harness.StatusFailed, harness.StatusNotApplicable, harness.StatusManual},
	reflect.TypeFor[harness.Op]():        {harness.OpApply, harness.OpPlan, harness.OpRefresh, harness.OpDestroy},
	reflect.TypeFor[contract.Role]():     {contract.RoleCluster, contract.RoleMachine, contract.RoleMachinePool},
}

// reflect returns the schema of a type, with the comments of the packages in dirs.
func reflectSchema(t *testing.T, value any, dirs ...string) *reflector.Schema {
	t.Helper()
	r := reflector.Reflector{
		ExpandedStruct: true, Anonymous: true,
		Namer: func(typ reflect.Type) string { // Pair[…/harness.Verdict] is PairVerdict
			name, of, generic := strings.Cut(typ.Name(), "[")
			if !generic {
				return name
			}
			if strings.HasPrefix(of, "[]") {
				name += "List"
			}
			return name + strings.Map(func(c rune) rune {
				if unicode.IsLetter(c) {
					return c
				}
				return -1
			}, of[strings.LastIndexAny(of, "./")+1:])
		},
		Mapper: func(typ reflect.Type) *reflector.Schema {
			if values, ok := enums[typ]; ok {
				return &reflector.Schema{Type: "string", Enum: values}
			}
			return nil
		},
	}
	// The comments are keyed by the path that they were read from.
	comments := map[string]string{}
	for _, dir := range dirs {
		r.CommentMap = nil
		if err := r.AddGoComments("github.com/captf-toolkit/captf", dir, reflector.WithFullComment()); err != nil {
			t.Fatal(err)
		}
		for key, text := range r.CommentMap {
			name := key[strings.LastIndex(key, "/")+1:]
			comments["github.com/captf-toolkit/captf/sdk/"+strings.TrimPrefix(filepath.ToSlash(filepath.Dir(dir)), "../")+"/"+name] = strings.Join(strings.Fields(text), " ")
			comments["github.com/captf-toolkit/captf/sdk/"+name] = strings.Join(strings.Fields(text), " ")
		}
	}
	r.CommentMap = comments
	return r.Reflect(value)
}

// nullable lets a property that refers to an object be null too.
func nullable(t *testing.T, s *reflector.Schema, name string) {
	t.Helper()
	p, ok := s.Properties.Get(name)
	if !ok {
		t.Fatalf("the schema has no %s", name)
	}
	p.OneOf, p.Ref = []*reflector.Schema{{Ref: p.Ref}, {Type: "null"}}, ""
}

// generate returns the schema of a type as a file.
func generate(t *testing.T, dir string, value any, id reflector.ID, title string) []byte {
	t.Helper()
	s := reflectSchema(t, value, "../harness", dir)
	s.ID, s.Title = id, title
	if result, ok := s.Definitions["Result"]; ok {
		nullable(t, result, "stalled")
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

func generateSchema(t *testing.T) []byte {
	t.Helper()
	one := reflectSchema(t, &harness.Result{}, "../harness")
	nullable(t, one, "stalled")
	// One scenario is an object, several are a list of such objects.
	s := &reflector.Schema{
		Version: one.Version, ID: "urn:captf:harness:report", Title: "Report of captf harness run",
		Description: "One report, or a list of reports when several scenarios were played.",
		OneOf:       []*reflector.Schema{{Ref: "#/$defs/Report"}, {Type: "array", Items: &reflector.Schema{Ref: "#/$defs/Report"}, MinItems: new(uint64(2))}},
		Definitions: one.Definitions,
	}
	one.Version, one.Definitions = "", nil
	s.Definitions["Report"] = one
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// suites is as much of JUnit XML as tests need.
type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnitCounts(t *testing.T) {
	for name, want := range map[string][4]int{
		"passed": {7, 0, 0, 4}, "failed": {9, 2, 0, 4}, "stalled": {6, 1, 0, 4}, "error": {1, 0, 1, 0}, "hostile": {2, 1, 0, 0},
	} {
		var got suites
		if err := xml.Unmarshal(write(t, func(w io.Writer) error { return report.JUnit(w, results()[name]) }), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, [4]int{got.Tests, got.Failures, got.Errors, got.Skipped}); diff != "" {
			t.Errorf("%s: tests, failures, errors, skipped (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzTexts puts any text into every field: the summary stays plain text, and
// JUnit stays XML that says the same.
func FuzzTexts(f *testing.F) {
	f.Add("plain", "CP-001", "cluster")
	f.Add("\x1b[31m]]>", "a\x00b", "mach\u202Eine")
	f.Add("\xff\xfe\xfd", "\ufffe", "]]]]>><![CDATA[")
	f.Add("a  b\t\tc\r\n", " ", "")
	f.Fuzz(func(t *testing.T, text, id, role string) {
		r := &harness.Result{
			Verdict: harness.Verdict(text), Scenario: id, ControlPlane: role, Runtime: text, Error: text, Kept: text, Left: []string{text, id}, Notes: []harness.Note{{Message: text, Place: id}},
			Modules: map[contract.Role]string{contract.Role(role): text},
			Stalled: &harness.Stall{Gate: id, WaitsFor: text, Object: text, Output: text, Requirement: id, Message: text, Remedy: text},
			Requirements: []harness.Requirement{
				{ID: id, Role: contract.Role(role), Status: harness.StatusFailed, Level: text, Title: text, Reason: text, Remedy: text, Evidence: []string{text, id}},
				{ID: id, Role: contract.RoleMachine, Status: harness.Status(text), Title: text},
			},
		}
		checkPlain(t, "text", write(t, func(w io.Writer) error { return report.Text(w, r, report.TextOptions{Questions: true}) }))
		var story bytes.Buffer
		report.NewStory(&story, false).Step(harness.StoryStep{At: -1, Actor: id, Object: role, Event: text})
		checkPlain(t, "story", story.Bytes())
		if n := bytes.Count(story.Bytes(), []byte("\n")); n != 1 {
			t.Errorf("a step has %d lines: %q", n, story.Bytes())
		}
		var got suites
		raw := write(t, func(w io.Writer) error { return report.JUnit(w, r) })
		if err := xml.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%v: %q", err, raw)
		}
		if got.Tests != 3 || got.Failures != 2 {
			t.Errorf("%d tests, %d failures in %q", got.Tests, got.Failures, raw)
		}
		if !json.Valid(write(t, func(w io.Writer) error { return report.JSON(w, r) })) {
			t.Error("the JSON report is not JSON")
		}
	})
}

// TestWriteErrors: a full disk or a closed pipe is reported.
func TestWriteErrors(t *testing.T) {
	for name, fn := range map[string]func(io.Writer) error{
		"text":  func(w io.Writer) error { return report.Text(w, results()["failed"], report.TextOptions{}) },
		"json":  func(w io.Writer) error { return report.JSON(w, results()["failed"]) },
		"junit": func(w io.Writer) error { return report.JUnit(w, results()["failed"]) },
	} {
		if err := fn(brokenWriter{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	report.NewStory(brokenWriter{}, true).Step(harness.StoryStep{})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
