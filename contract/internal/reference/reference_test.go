package reference

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/versions"
)

// TestPageTellsEverything looks for every row of the tables; the page as a
// whole is compared by the generator's test.
func TestPageTellsEverything(t *testing.T) {
	d := versions.Default()
	b, err := Page(d)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	var want []string
	for _, role := range contract.Roles() {
		want = append(want, "## Role "+string(role), role.Kind())
		for _, in := range d.Spec(role).Inputs {
			want = append(want, "| `"+in.Name+"` | `"+in.Shape.TypeExpr()+"` |")
		}
		for _, out := range d.Spec(role).Outputs {
			want = append(want, "| `"+out.Name+"` | `"+out.Shape.TypeExpr()+"` |", cell(out.Doc))
		}
	}
	for _, state := range contract.HealthStates() {
		want = append(want, "| `"+string(state)+"` |")
	}
	for _, limit := range d.Limits() {
		want = append(want, limit.Item)
	}
	for _, name := range contract.MetaArguments() {
		want = append(want, "`"+name+"`")
	}
	for _, text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not tell %q", text)
		}
	}
	if strings.Contains(page, "<no value>") || strings.Contains(page, "%!") {
		t.Error("the page has a hole")
	}
}

// TestPageTables checks that every row of a table has the cells of its head.
func TestPageTables(t *testing.T) {
	b, err := Page(versions.Default())
	if err != nil {
		t.Fatal(err)
	}
	bar := regexp.MustCompile(`(^|[^\\])\|`)
	columns := 0
	for n, line := range strings.Split(string(b), "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		cells := len(bar.FindAllString(strings.ReplaceAll(line, "|", " | "), -1))
		if columns == 0 {
			columns = cells
		}
		if cells != columns {
			t.Errorf("line %d has %d cells, the head of its table %d: %s", n+1, cells, columns, line)
		}
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{cell("a|b\nc<d>"), `a\|b c&lt;d>`},
		{code("a|b"), "`a\\|b`"},
		{yes(true) + yes(false), "yesno"},
		{amount(7), "7"},
		{amount(1_000_000), "1,000,000"},
		{interval(0), "with the drift check"},
		{interval(90 * time.Second), "90 s"},
		{interval(2 * time.Minute), "2 min"},
		{joinCodes([]string{"a", "b"}), "`a`, `b`"},
		{hashed(contract.Input{}), "yes"},
		{hashed(contract.Input{Rotates: true}), "yes, but not for approvals"},
		{hashed(contract.Input{UnhashedIf: "a.b"}), "unless `a.b`"},
		{nullMeaning(contract.Output{Null: contract.NullDefault, NullValue: false}), "stands for `false`"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
