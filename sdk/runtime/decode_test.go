package runtime

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/contract/golden"
)

// TestStreams decodes the recorded streams in testdata/streams. To add one, put the output of a
// command with -json there as NAME.jsonl and run the test with -update.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded streams: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			res := &Result{}
			var plain []string
			if err := readLines(bytes.NewReader(raw), maxLine, func(l line) {
				if e, ok := DecodeEvent(l.text); ok {
					res.take(e)
				} else {
					plain = append(plain, string(l.text))
				}
			}); err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(struct {
				Result *Result
				Plain  []string
			}{res, plain}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, strings.TrimSuffix(file, ".jsonl")+".golden.json", append(got, '\n'))
		})
	}
}

func TestDecodeEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		line string
		want Event
		no   bool
	}{
		"empty":     {line: "", no: true},
		"text":      {line: "Initializing...", no: true},
		"array":     {line: "[1]", no: true},
		"other":     {line: `{"a":1}`, no: true},
		"truncated": {line: `{"@level":"info","@mess`, no: true},
		"message":   {line: `{"@level":"info","@message":"m"}`, want: Event{Level: "info", Message: "m"}},
		"wrong types elsewhere": {
			line: `{"@level":"info","@message":"m","@timestamp":"soon","type":3,"hook":[1]}`,
			want: Event{Level: "info", Message: "m"},
		},
		"error without diagnostic": {
			line: `{"@level":"error","@message":"boom"}`,
			want: Event{Level: "error", Message: "boom", Diagnostic: &Diagnostic{Severity: SeverityError, Summary: "boom"}},
		},
		"no type, as tofu init has it": {
			line: `{"@level":"warn","@message":"w","diagnostic":{"severity":"warning","summary":"s","range":{"filename":"f","start":{"line":-1,"column":2}}}}`,
			want: Event{Level: "warn", Message: "w", Diagnostic: &Diagnostic{Severity: SeverityWarning, Summary: "s", File: "f", Column: 2}},
		},
		"apply": {
			line: `{"@level":"info","@message":"m","@timestamp":"2026-01-02T03:04:05Z","type":"apply_complete","hook":{"resource":{"addr":"a.b","resource_key":0},"action":"create","id_key":"id","id_value":"7","elapsed_seconds":1.5}}`,
			want: Event{Level: "info", Message: "m", Type: "apply_complete", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
				Resource: &ResourceEvent{Phase: PhaseApply, Moment: Completed, Address: "a.b", Action: Create, IDKey: "id", ID: "7",
					Elapsed: 1500 * time.Millisecond, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
		},
		"unknown hook": {
			line: `{"@level":"info","@message":"m","type":"new_thing","hook":{"resource":{"addr":"a.b"}}}`,
			want: Event{Level: "info", Message: "m", Type: "new_thing"},
		},
		"move": {
			line: `{"@level":"info","@message":"m","type":"planned_change","change":{"resource":{"addr":"a.c"},"previous_resource":{"addr":"a.b"},"action":"move"}}`,
			want: Event{Level: "info", Message: "m", Type: "planned_change", Planned: &Change{Address: "a.c", Previous: "a.b", Action: Move}},
		},
		"forget": {
			line: `{"@level":"info","@message":"m","type":"planned_change","change":{"resource":{"addr":"a.c"},"action":"remove"}}`,
			want: Event{Level: "info", Message: "m", Type: "planned_change", Planned: &Change{Address: "a.c", Action: Forget}},
		},
		"drift": {
			line: `{"@level":"info","@message":"m","type":"resource_drift","change":{"resource":{"addr":"a.c"},"action":"no-op"}}`,
			want: Event{Level: "info", Message: "m", Type: "resource_drift", Drift: &Change{Address: "a.c", Action: NoOp}},
		},
		"summary": {
			line: `{"@level":"info","@message":"m","type":"change_summary","changes":{"add":1,"change":2,"import":4,"remove":3,"operation":"plan"}}`,
			want: Event{Level: "info", Message: "m", Type: "change_summary", Summary: &Summary{Add: 1, Change: 2, Remove: 3, Import: 4, Operation: "plan"}},
		},
		"outputs": {
			line: `{"@level":"info","@message":"m","type":"outputs","outputs":{"x":{"sensitive":true,"action":"create"},"y":{"value":[1],"type":"x"}}}`,
			want: Event{Level: "info", Message: "m", Type: "outputs", Outputs: map[string]Action{"x": Create}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := DecodeEvent([]byte(tc.line))
			if ok == tc.no {
				t.Fatalf("decoded: %t", ok)
			}
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(Event{})); d != "" {
				t.Errorf("(-want +got): %s", d)
			}
		})
	}
}

// FuzzEvents feeds a recorder as a runtime would: it may neither panic nor keep more than
// its limits, and no registered secret may come out.
func FuzzEvents(f *testing.F) {
	// One line of each type: whole streams are long to minimise.
	files, _ := filepath.Glob("testdata/streams/*.jsonl")
	seen := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for l := range bytes.Lines(raw) {
			if e, ok := DecodeEvent(l); ok && !seen[e.Type] {
				seen[e.Type] = true
				f.Add(l)
			}
		}
	}
	f.Add([]byte("{\"@level\":\"error\"\n\x00\xff\n\"s3cr3t-value\""))
	f.Add([]byte(`{"@level":"info","@message":"s3cr3t-value","state":{"version":4}}` + "\n│ Error: x\n│\n│   on a line 3:\n"))
	const secret = "s3cr3t-value"
	f.Fuzz(func(t *testing.T, raw []byte) {
		var told []Event
		w := &Workdir{dir: "dir", redact: newRedactor([]string{secret})}
		w.o.Events = func(_ Step, e Event) { told = append(told, e) }
		rec := &recorder{w: w, step: StepApply, res: &Result{}, text: newTail(256), log: &logFile{}}
		if err := readLines(bytes.NewReader(raw), 1<<10, rec.stream); err != nil {
			t.Fatal(err)
		}
		for _, d := range humanDiagnostics(rec.text.String()) {
			rec.res.diagnose(d.finish("dir", w.redact))
		}
		if len(rec.text.String()) > 4*256 {
			t.Errorf("the tail has %d bytes", len(rec.text.String()))
		}
		for _, e := range told {
			if e.state != nil && !json.Valid(e.state) {
				t.Errorf("state is no JSON: %q", e.state)
			}
			shown := []string{e.Message}
			if e.Resource != nil {
				shown = append(shown, e.Resource.Address, e.Resource.ID)
			}
			if e.Planned != nil {
				shown = append(shown, e.Planned.Address, e.Planned.Previous)
			}
			if strings.Contains(strings.Join(shown, "\n"), secret) {
				t.Errorf("event shows the secret: %+v", e)
			}
		}
		for _, d := range rec.res.Diagnostics {
			if strings.Contains(d.String()+d.Code, secret) {
				t.Errorf("diagnostic shows the secret: %+v", d)
			}
		}
		fail := &RunError{Step: StepApply, Dir: "dir", Diagnostics: rec.res.Errors(), Output: rec.text.String()}
		if s := fail.Error(); strings.ContainsAny(s, "\n\r") || strings.Contains(s, secret) {
			t.Errorf("message: %q", s)
		}
	})
}

// FuzzState checks that decoding a state neither panics nor invents addresses.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":4,"serial":1,"lineage":"l","outputs":{"a":{"value":1,"type":"number"}},"resources":[{"mode":"managed","type":"t","name":"n","instances":[{"index_key":"k\"${"},{"index_key":1},{"deposed":"d"}]}]}`))
	f.Add([]byte(""))
	f.Add([]byte(`{"version":4,"encrypted_data":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := DecodeState(raw)
		if err != nil {
			return
		}
		for _, r := range s.Resources {
			if r.Address == "" || strings.ContainsRune(r.Address, '\n') && !strings.ContainsRune(r.Type+r.Name+r.Module, '\n') {
				t.Errorf("address %q", r.Address)
			}
		}
	})
}

func TestDecodeState(t *testing.T) {
	for name, tc := range map[string]struct {
		state, says string
	}{
		"no JSON":     {"x", "invalid character"},
		"old format":  {`{"version":3}`, "format version 4"},
		"no version":  {`{}`, "format version 4"},
		"encrypted":   {`{"encrypted_data":"x","version":4}`, "encrypted"},
		"odd key":     {`{"version":4,"resources":[{"mode":"managed","type":"t","name":"n","instances":[{"index_key":{}}]}]}`, "key of t.n"},
		"wrong shape": {`{"version":4,"resources":{}}`, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := DecodeState([]byte(tc.state)); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	s, err := DecodeState([]byte(`{"version":4,"resources":[
		{"mode":"data","type":"t","name":"n","module":"module.a[\"x\"]","instances":[{"index_key":"k\"${v}"},{"index_key":2}]},
		{"mode":"managed","type":"t","name":"n","instances":[{"deposed":"12345678","status":"tainted"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.Resources {
		got = append(got, r.Address)
	}
	want := []string{`module.a["x"].data.t.n["k\"$${v}"]`, `module.a["x"].data.t.n[2]`, "t.n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("addresses (-want +got): %s", d)
	}
	if last := s.Resources[2]; last.Deposed != "12345678" || !last.Tainted || !last.Managed || s.Resources[0].Managed {
		t.Errorf("got %+v", s.Resources)
	}
}

func TestReadLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		lines := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,300}`)).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		text := ""
		var want []line
		for _, l := range lines {
			text += l + end
			want = append(want, line{text: []byte(l[:min(len(l), limit)]), cut: len(l) > limit})
		}
		var got []line
		if err := readLines(iotest.HalfReader(strings.NewReader(text)), limit, func(l line) {
			got = append(got, line{text: bytes.Clone(l.text), cut: l.cut})
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("got %d lines, want %d", len(got), len(want))
		}
		for i := range got {
			if string(got[i].text) != string(want[i].text) || got[i].cut != want[i].cut {
				t.Fatalf("line %d: got %q %t, want %q %t", i, got[i].text, got[i].cut, want[i].text, want[i].cut)
			}
		}
	})
	// A last line without an end counts, and one longer than the buffer is one line.
	var got []string
	long := strings.Repeat("x", 300<<10)
	if err := readLines(strings.NewReader(long+"\nlast"), 1<<20, func(l line) { got = append(got, string(l.text)) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] != long || got[1] != "last" {
		t.Errorf("got %d lines", len(got))
	}
}

func TestHumanDiagnostics(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []Diagnostic
	}{
		"none": {text: "all is well\n"},
		"framed": {
			text: "\x1b[31m╷\x1b[0m\n\x1b[31m│\x1b[0m \x1b[1m\x1b[31mError: \x1b[0mUnsupported argument\n│ \n│   on main.tf line 3, in module \"role\":\n│    3:   foo = 1\n│ \n│ An argument named \"foo\" is not expected here.\n╵\nafter\n",
			want: []Diagnostic{{Severity: SeverityError, Summary: "Unsupported argument", File: "main.tf", Line: 3, Code: "foo = 1",
				Detail: `An argument named "foo" is not expected here.`}},
		},
		"plain, two": {
			text: "Warning: Odd\n\nsomething\n\nError: Bad\n\n  with module.role.t.x,\n  on m/a b.tf line 12:\n  12: x\n\nlong\ndetail\n",
			want: []Diagnostic{
				{Severity: SeverityWarning, Summary: "Odd", Detail: "something"},
				{Severity: SeverityError, Summary: "Bad", Address: "module.role.t.x", File: "m/a b.tf", Line: 12, Code: "x", Detail: "long\ndetail"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, humanDiagnostics(tc.text)); d != "" {
				t.Errorf("(-want +got): %s", d)
			}
		})
	}
}

func TestDiagnosticFinish(t *testing.T) {
	r := newRedactor([]string{"hush-hush"})
	for in, want := range map[string]string{
		"../module/main.tf": "work/module/main.tf",
		"main.tf":           "work/root/main.tf",
		"/abs/main.tf":      "/abs/main.tf",
		"<value for var.x>": "<value for var.x>",
		"":                  "",
	} {
		d := Diagnostic{File: in, Summary: "hush-hush", Detail: "x hush-hush", Code: "hush-hush", Address: "a[\"hush-hush\"]"}.finish("work/root", r)
		if d.File != want || strings.Contains(d.String()+d.Code, "hush-hush") {
			t.Errorf("%q: got %+v", in, d)
		}
	}
}
