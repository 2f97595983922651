package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract/golden"
)

// gotest runs the command in the project under testdata, whose packages each end in another way.
func gotest(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Chdir(filepath.Join("testdata", "project"))
	var out, errs bytes.Buffer
	code = run(append([]string{"-race=false"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// What differs between runs and Go versions: times, columns, which coverage shifts, and which variant of a package the
// compiler came to first.
var (
	times    = regexp.MustCompile(` *\d+\.\d+ ?s\b`)
	columns  = regexp.MustCompile(`(\.go:\d+):\d+`)
	variants = regexp.MustCompile(` \[\S+\.test\]`)
)

func steady(s string) []byte {
	return []byte(variants.ReplaceAllString(columns.ReplaceAllString(times.ReplaceAllString(s, "*"), "$1"), ""))
}

func TestRunReportsEachEnding(t *testing.T) {
	for _, pkg := range []string{"bad", "bare", "broken", "dies", "empty", "exits", "good"} {
		t.Run(pkg, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("testdata", pkg+".golden"))
			if err != nil {
				t.Fatal(err)
			}
			_, stdout, _ := gotest(t, "./"+pkg)
			golden.Assert(t, path, steady(stdout))
		})
	}
}

func TestRunExitCodes(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		{"all is well", []string{"-floors=false", "./good"}, exitOK, []string{"2 passed, 0 failed, 2 skipped"}, ""},
		{"a floor is missed", []string{"./good"}, exitFailed, []string{"66.7 %   BELOW its floor of 70 %", "2 passed, 0 failed, 2 skipped"}, ""},
		{"a package without tests", []string{"./bare"}, exitFailed, []string{"0.0 %   BELOW", "0 passed"}, ""},
		{"tests of another package count", []string{"./bare", "./outside"}, exitOK, []string{"100.0 %\n", "1 passed"}, ""},
		{"no floors when tests are chosen", []string{"-run", "TestHalf", "./good"}, exitOK, []string{"2 passed, 0 failed, 1 skipped"}, ""},
		{"a panic shows its trace", []string{"./panics"}, exitFailed, []string{
			"panic: out of cheese", "panics_test.go:5", "  panics TestPanics\n", "0 passed, 1 failed, 0 skipped"}, ""},
		{"no such package", []string{"./nowhere"}, exitFailed, []string{"0 passed, 1 failed, 0 skipped"}, ""},
		{"no package", nil, exitUsage, nil, "no packages given"},
		{"unknown flag", []string{"-fast"}, exitUsage, nil, "not defined: -fast"},
		{"bad package pattern", []string{"-run", "(", "./good"}, exitFailed, []string{"1 failed"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := gotest(t, tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("stdout lacks %q", want)
				}
			}
			if !strings.Contains(stderr, tt.stderr) {
				t.Errorf("stderr lacks %q", tt.stderr)
			}
			if t.Failed() {
				t.Logf("stdout:\n%s\nstderr:\n%s", stdout, stderr)
			}
		})
	}
}

func TestTheCountsAreTheLastLine(t *testing.T) {
	_, stdout, _ := gotest(t, "./bad", "./good")
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if got, want := lines[len(lines)-1], "3 passed, 2 failed, 2 skipped"; got != want {
		t.Errorf("the last line is %q, want %q", got, want)
	}
}

// TestFailedTestsRunOnceMore: what passes then is told, and what fails again has failed.
func TestFailedTestsRunOnceMore(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "project"))
	t.Setenv("FLAKY_MARK", filepath.Join(t.TempDir(), "mark"))
	for pkg, want := range map[string]string{
		"./flaky": "FLAKY, failed and then passed when run once more; each of them is a defect:\n  flaky TestFlaky\n\n2 passed, 0 failed, 0 skipped\n",
		"./bad":   "\nfailed:\n  bad TestDouble/five\n  bad TestDouble\n\n1 passed, 2 failed, 0 skipped\n",
	} {
		var out, errs bytes.Buffer
		o := options{packages: []string{pkg}}
		r := newReport(&out, "example.test/project")
		if _, err := goTest(t.Context(), r, o.goTestArgs(true, ""), &errs); err == nil {
			t.Fatalf("%s passed at once", pkg)
		}
		readErr, waitErr := o.again(t.Context(), r, errors.New("failed"), &errs)
		if readErr != nil || (waitErr == nil) != (r.failed == 0) {
			t.Errorf("%s: %v, %v with %d failed", pkg, readErr, waitErr, r.failed)
		}
		if r.summary(nil); !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: the report ends with\n%s\nwant\n%s%s", pkg, out.String(), want, errs.String())
		}
	}
}

func TestWhatIsNotRunOnceMore(t *testing.T) {
	for name, events := range map[string]string{
		"a race":   `{"Action":"output","Package":"m/p","Test":"T","Output":"WARNING: DATA RACE\n"}` + "\n" + `{"Action":"fail","Package":"m/p","Test":"T"}`,
		"no build": `{"Action":"fail","Package":"m/p"}`,
		"a death":  `{"Action":"output","Package":"m/p","Test":"T","Output":"=== RUN T\n"}` + "\n" + `{"Action":"fail","Package":"m/p"}`,
		"too many to be accidents": strings.Join([]string{
			`{"Action":"fail","Package":"m/p","Test":"A"}`, `{"Action":"fail","Package":"m/p","Test":"B"}`,
			`{"Action":"fail","Package":"m/q","Test":"A"}`, `{"Action":"fail","Package":"m/q","Test":"B"}`,
		}, "\n"),
	} {
		r := newReport(io.Discard, "m")
		if err := r.read(strings.NewReader(events)); err != nil {
			t.Fatal(err)
		}
		if tests := r.again(); r.failed == 0 || len(tests) > 0 {
			t.Errorf("%s: %d failed, run once more: %v", name, r.failed, tests)
		}
	}
}

func TestFloors(t *testing.T) {
	tests := []struct {
		pkg  string
		want float64
	}{
		{"contract", 80},
		{"contract/v1alpha1", 80},
		{"contractors", 70},
		{"lint/rules", 80},
		{"sdk/runtime", 70},
	}
	for _, tt := range tests {
		if got, ok := floorOf(tt.pkg); got != tt.want || !ok {
			t.Errorf("floorOf(%s) = %v, %v; want %v, true", tt.pkg, got, ok, tt.want)
		}
	}
	for _, e := range exempt {
		if _, ok := floorOf(e.pkg); ok {
			t.Errorf("floorOf(%s) knows a floor for an exempt package", e.pkg)
		}
		if e.reason == "" {
			t.Errorf("%s is exempt from the floors without a reason", e.pkg)
		}
	}
}

func TestExemptionOfAPackageThatIsGone(t *testing.T) {
	var out bytes.Buffer
	if got, want := len((coverage{}).judge(&out, true)), len(exempt); got != want {
		t.Errorf("%d things are wrong with a whole run without the exempt packages, want %d", got, want)
	}
	if got, want := strings.Count(out.String(), "does not exist"), len(exempt); got != want {
		t.Errorf("named %d stale exemptions, want %d:\n%s", got, want, out.String())
	}
	if len((coverage{}).judge(&out, false)) > 0 {
		t.Error("a run of some packages complains about others")
	}
}

func TestLowCoverageIsToldAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	below := coverage{"contract": {covered: 1, all: 2}, "sdk": {covered: 2, all: 2}}.judge(&out, false)
	if len(below) != 1 {
		t.Fatalf("below their floors: %q", below)
	}
	out.Reset()
	newReport(&out, "m").summary(below)
	if got := out.String(); !strings.Contains(got, "coverage too low:\n  contract ") || !strings.Contains(got, "50.0 %   BELOW its floor of 80 %") {
		t.Errorf("printed %q", got)
	}
}

func TestTheSlowestBeginFirst(t *testing.T) {
	for _, pkg := range slowest {
		if _, err := os.Stat(filepath.Join("..", "..", pkg)); err != nil {
			t.Error(err)
		}
	}
	args := options{packages: []string{everything}}.goTestArgs(false, "")
	if got, want := args[len(args)-len(slowest)-1:], slowest[0]; got[0] != "./"+want || got[len(got)-1] != everything {
		t.Errorf("the packages are %q", got)
	}
	if args := (options{packages: []string{"./good"}}).goTestArgs(false, ""); slices.Contains(args, "./"+slowest[0]) {
		t.Errorf("a run of one package runs %q", args)
	}
}

func TestPlainTestsRunAgainWithoutTheRaceDetector(t *testing.T) {
	for _, p := range plain {
		if _, err := os.Stat(filepath.Join("..", "..", p.pkg)); err != nil {
			t.Error(err)
		}
	}
	all := options{race: true, floors: true, packages: []string{everything}}.plainArgs(true)
	if len(all) != len(plain) {
		t.Fatalf("a whole run has %d plain ones, want %d", len(all), len(plain))
	}
	for n, p := range plain {
		if args := all[n]; slices.Contains(args, "-race") || !slices.Contains(args, "-count=1") || !slices.Equal(args[len(args)-3:], []string{"-run", p.run, "./" + p.pkg}) {
			t.Errorf("the arguments are %q", args)
		}
	}
	if one := (options{race: true, packages: []string{"./" + plain[0].pkg}}).plainArgs(false); len(one) != 1 {
		t.Errorf("a run of that package has the plain ones %q", one)
	}
	for _, o := range []options{
		{race: false, packages: []string{everything}},
		{race: true, run: "TestX", packages: []string{everything}},
		{race: true, packages: []string{"./good"}},
	} {
		if args := o.plainArgs(true); len(args) > 0 {
			t.Errorf("%+v has the plain ones %q", o, args)
		}
	}
}

func TestReadCoverageOfNothing(t *testing.T) {
	if _, err := readCoverage(filepath.Join(t.TempDir(), "none"), "m"); err == nil {
		t.Error("a missing profile is fine")
	}
}

func TestReadPassesOtherLinesThrough(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, "m")
	in := "no JSON at all\n" + `{"Action":"pass","Package":"m/p","Test":"T"}` + "\nunended"
	if err := r.read(strings.NewReader(in)); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "no JSON at all\nunended"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if r.passed != 1 {
		t.Errorf("counted %d passed, want 1", r.passed)
	}
}
