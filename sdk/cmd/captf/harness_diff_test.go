package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/sdk/harness/compare"
)

func TestHarnessDiff(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = `{"verdict":"passed","scenario":"K1","controlPlane":"kcp","seed":1,"runtime":"OpenTofu","stalled":null,"requirements":[{"id":"CP-001","role":"cluster","status":"passed"}],"steps":[{"at":1,"type":"created","object":"Machine/a"}],"modules":{},"timing":{}}`
	a, b := write("a.json", good), write("b.json", strings.NewReplacer(`"status":"passed"`, `"status":"failed","reason":"it is wrong"`, `"verdict":"passed"`, `"verdict":"failed"`).Replace(good))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{a, a}, exitOK, "SAME  1 of 1 scenario the same"},
		{[]string{a, b}, exitFailed, "CP-001 cluster  passed → failed"},
		{[]string{a}, exitUsage, "the name of two files is needed"},
		{[]string{"-o", "xml", a, b}, exitUsage, "it is one of text, json"},
		{[]string{a, filepath.Join(dir, "none.json")}, exitUsage, "no such file"},
		{[]string{dir, a}, exitUsage, "it is a directory"},
		{[]string{a, write("x.json", "{\n\"a\" 1}")}, exitUsage, "x.json: 2:5: it is no JSON"},
		{[]string{a, write("y.json", `{"findings":[]}`)}, exitUsage, "y.json: it has no \"verdict\": not a JSON report of captf harness run"},
	} {
		code, out, errOut := captf(t, append([]string{"harness", "diff"}, c.args...)...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, errOut)
		}
	}
	code, out, _ := captf(t, "harness", "diff", "-o", "json", a, b)
	var d compare.Difference
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitFailed || d.Same || len(d.Runs) != 1 {
		t.Errorf("exit code %d, %v, %+v", code, err, d)
	}
}
