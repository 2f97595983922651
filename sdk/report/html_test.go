package report_test

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/contract/golden"
	"github.com/captf-toolkit/captf/sdk/harness"
	"github.com/captf-toolkit/captf/sdk/report"
)

// life is a short story with everything that a timeline draws.
func life() []harness.StoryStep {
	machine, infra, node := "Machine/demo-x7k2p", "TerraformMachine/demo-cp-9fhtz", "Node/demo-x7k2p.local"
	return []harness.StoryStep{
		{Type: harness.EventAsked, Actor: "user", Object: "Cluster/demo", Event: "the user creates a cluster"},
		{Type: harness.EventWaiting, Actor: "kcp", Object: "KubeadmControlPlane/demo", Event: "waits for the infrastructure", Gate: "kcp/infrastructure-provisioned"},
		{At: 1, Type: harness.EventRunStarted, Actor: "captf", Object: "TerraformCluster/demo", Event: "apply starts"},
		{At: 97, Type: harness.EventRunEnded, Actor: "captf", Object: "TerraformCluster/demo", Event: "apply ends: 1 created", Op: harness.OpApply, Took: 0.06},
		{At: 97, Type: harness.EventProvisioned, Actor: "captf", Object: "TerraformCluster/demo", Event: "is provisioned"},
		{At: 97, Type: harness.EventPassed, Actor: "kcp", Object: "KubeadmControlPlane/demo", Event: "has waited 1m37s", Gate: "kcp/infrastructure-provisioned"},
		{At: 97, Type: harness.EventCreated, Actor: "kcp", Object: machine, Event: "is created", With: infra},
		{At: 98, Type: harness.EventRunStarted, Actor: "captf", Object: infra, Event: "apply starts"},
		{At: 120, Type: harness.EventRunFailed, Actor: "captf", Object: infra, Event: "apply fails: no quota", Op: harness.OpApply},
		{At: 120, Type: harness.EventFault, Actor: "harness", Object: infra, Event: "the quota is used up"},
		{At: 180, Type: harness.EventRunStarted, Actor: "captf", Object: infra, Event: "apply starts"},
		{At: 230, Type: harness.EventRunEnded, Actor: "captf", Object: infra, Event: "apply ends: 2 created", Op: harness.OpApply, Took: 0.1},
		{At: 260, Type: harness.EventRunEnded, Actor: "captf", Object: infra, Event: "refresh ends", Op: harness.OpRefresh, Took: 0.02},
		{At: 300, Type: harness.EventNodeJoined, Actor: "node", Object: node, Event: "joins"},
		{At: 303, Type: harness.EventNodeRef, Actor: "cluster-api", Object: machine, Event: "is Node demo-x7k2p.local", With: node},
		{At: 500, Type: harness.EventDeleted, Actor: "kcp", Object: machine, Event: "is deleted"},
		{At: 510, Type: harness.EventRunStarted, Actor: "captf", Object: infra, Event: "destroy starts"},
		{At: 560, Type: harness.EventRunEnded, Actor: "captf", Object: infra, Event: "destroy ends: 2 deleted", Op: harness.OpDestroy, Took: 0.1},
		{At: 560, Type: harness.EventGone, Actor: "captf", Object: infra, Event: "is gone"},
		{At: 561, Type: harness.EventGone, Actor: "cluster-api", Object: machine, Event: "is gone"},
		{At: 600, Type: harness.EventProbed, Actor: "probe", Object: "machine module", Event: "two machines side by side: 9 runs"},
	}
}

// pageResults are the runs that the pages show: those of the other formats, one
// with everything that only a page shows.
func pageResults() map[string]*harness.Result {
	all := results()
	full := *all["failed"]
	full.Title, full.Command, full.Contract, full.ScenarioFile = "a whole life", "captf harness run --seed 1 modules", "v1alpha1", "mine.yaml"
	full.Steps = life()
	full.Requirements = slices.Clone(full.Requirements)
	full.Requirements[1].Proof = []harness.Proof{{
		Object: "TerraformMachine/demo-cp-2", Op: harness.OpPlan, At: 611, More: 3,
		Changes: []harness.PlannedChange{{Address: "aws_lb.x", Action: harness.ActionUpdate}, {Address: "aws_instance.x", Action: harness.ActionReplace}},
		Outputs: []harness.OutputValue{{Name: "provider_id", Value: `"aws:///a/i-1"`, Place: "set/machine/outputs.tf:3"}},
		State:   []string{"aws_lb_target_group_attachment.api[0]"},
	}}
	full.Faults = []harness.FaultRecord{
		{Kind: harness.FaultQuota, Object: "TerraformMachine/demo-cp-9fhtz", Op: harness.OpApply, At: 120, Effect: "apply fails", Reaction: []string{"captf tries again"}, Survived: true},
		{Kind: harness.FaultStateLost, Object: "TerraformMachine/demo-cp-9fhtz", At: 220, Left: []harness.CloudObject{{Type: "aws_instance", ID: "i-2"}}},
	}
	full.LeftInCloud = []harness.CloudObject{{Type: "aws_instance", ID: "i-2", Owner: "machine-demo-cp-9fhtz", Address: "aws_instance.x"}}
	full.NotPlayed = []harness.NotPlayed{{Scenario: "K7", Title: "remediation", Reason: "it needs a cloud: add --simulate"}}
	full.Simulated = []harness.Simulated{{Provider: "hashicorp/aws", Schema: "derived", Behaviour: "aws", Unchecked: []string{"validators", "nested ForceNew"}}}
	full.Objects = []harness.Inventoried{
		{Object: "TerraformMachine/demo-cp-9fhtz", Role: contract.RoleMachine, Runs: 4, Created: 2, Addresses: []string{"aws_instance.x", "aws_lb.x"}, Remaining: 1, RemainingAddresses: []string{"aws_lb.x"}},
		{Object: "TerraformMachine/demo-probe-a", Role: contract.RoleMachine, Probe: true, Runs: 2, Created: 1, Addresses: []string{"aws_instance.x"}},
	}
	full.Membership = map[contract.Role]harness.MembershipInfo{contract.RoleMachine: {Pattern: harness.PatternAttachment, Members: []string{"aws_lb_target_group_attachment.api"}}}
	all["full"] = &full
	return all
}

func page(t testing.TB, o report.HTMLOptions, rs ...*harness.Result) (raw []byte, root *html.Node) {
	t.Helper()
	raw = write(t, func(w io.Writer) error { return report.HTML(w, o, rs...) })
	root, err := html.Parse(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return raw, root
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// elements returns every element of a page in order.
func elements(root *html.Node) []*html.Node {
	var out []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

// content is the text in an element, on one line.
func content(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode && c.Parent.Data != "script" && c.Parent.Data != "style" {
			b.WriteString(c.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// outline is a page as headings, tables, drawings and texts, for the golden files.
func outline(root *html.Node) []byte {
	var b bytes.Buffer
	for _, n := range elements(root) {
		id := attr(n, "id")
		if id != "" {
			id = " #" + id
		}
		switch n.Data {
		case "title", "h1", "h2", "h3", "h4", "summary", "p", "dt", "dd", "li", "th", "td", "figcaption", "pre", "button":
			fmt.Fprintf(&b, "%s%s: %s\n", n.Data, id, content(n))
		case "section", "details", "table", "nav", "main", "footer", "figure":
			fmt.Fprintf(&b, "%s%s %s\n", n.Data, id, attr(n, "class"))
		case "div":
			if attr(n, "role") == "img" || attr(n, "role") == "group" {
				fmt.Fprintf(&b, "div %s: %s\n", attr(n, "role"), attr(n, "aria-label"))
			}
		case "i", "b":
			if title := attr(n, "title"); title != "" {
				fmt.Fprintf(&b, "  %s | %s | %s\n", attr(n, "class"), attr(n, "style"), strings.ReplaceAll(title, "\n", " / "))
			}
		}
	}
	return b.Bytes()
}

func TestPages(t *testing.T) {
	rs := pageResults()
	for name, r := range rs {
		_, root := page(t, report.HTMLOptions{}, r)
		golden.Assert(t, filepath.Join("testdata", "page."+name+".txt"), outline(root))
	}
	_, root := page(t, report.HTMLOptions{
		Title: "modules/aws", Generator: "captf v1.2.3", Date: "2026-01-02",
		Checks: []report.Check{
			{Name: "lint of the machine module", Verdict: harness.VerdictFailed, Summary: "1 finding", Findings: []report.CheckFinding{
				{ID: "cp/whole-list", Severity: "error", Message: "a resource owns every member", Place: "main.tf:3:1", Remedy: "attach one member"},
			}},
			{Name: "lint of the cluster module", Verdict: harness.VerdictPassed, Summary: "nothing was found"},
		},
	}, rs["passed"], rs["full"], rs["error"])
	golden.Assert(t, filepath.Join("testdata", "page.several.txt"), outline(root))
}

// TestPagesAreSelfContained: no page refers to anything outside itself, no id is
// there twice, whatever is referred to exists, and every requirement is shown.
func TestPagesAreSelfContained(t *testing.T) {
	rs := pageResults()
	pages := map[string][]*harness.Result{"several": {rs["passed"], rs["full"], rs["stalled"], rs["error"]}}
	for name, r := range rs {
		pages[name] = []*harness.Result{r}
	}
	for name, list := range pages {
		t.Run(name, func(t *testing.T) {
			raw, root := page(t, report.HTMLOptions{}, list...)
			checkSelfContained(t, raw, root)
			rows := map[string]int{}
			for _, n := range elements(root) {
				if n.Data == "table" && attr(n, "class") == "requirements" {
					for c := range n.Descendants() {
						if c.Data == "a" && c.Type == html.ElementNode {
							rows[content(c)]++
						}
					}
				}
			}
			for _, r := range list {
				if name == "hostile" {
					continue
				}
				for _, q := range r.Requirements {
					if rows[q.ID]--; rows[q.ID] < 0 {
						t.Errorf("%s of %s is not shown", q.ID, r.Scenario)
					}
				}
			}
		})
	}
}

var outside = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]|@import|url\(`)

func checkSelfContained(t *testing.T, raw []byte, root *html.Node) {
	t.Helper()
	ids, refs := map[string]bool{}, map[string]bool{}
	policy := false
	headings := 0
	for _, n := range elements(root) {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if ids[a.Val] {
					t.Errorf("the id %q is there twice", a.Val)
				}
				ids[a.Val] = true
			case "href", "src", "xlink:href", "action", "srcset", "data", "poster":
				if !strings.HasPrefix(a.Val, "#") {
					t.Errorf("<%s %s=%q> refers to something outside", n.Data, a.Key, a.Val)
				}
				refs[strings.TrimPrefix(a.Val, "#")] = true
			case "aria-labelledby":
				refs[a.Val] = true
			case "style":
				if outside.MatchString(a.Val) || strings.Contains(a.Val, "ZgotmplZ") {
					t.Errorf("the style %q", a.Val)
				}
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has a handler %s", n.Data, a.Key)
			}
		}
		switch n.Data {
		case "link", "iframe", "img", "object", "embed", "base", "form", "audio", "video":
			t.Errorf("the page has a <%s>", n.Data)
		case "meta":
			policy = policy || attr(n, "http-equiv") == "Content-Security-Policy" && strings.Contains(attr(n, "content"), "default-src 'none'")
		case "style", "script":
			if text := n.FirstChild.Data; outside.MatchString(text) || strings.Contains(text, "ZgotmplZ") {
				t.Errorf("the %s refers to something outside", n.Data)
			}
		case "h1", "h2", "h3", "h4":
			level := int(n.Data[1] - '0')
			if level > headings+2 {
				t.Errorf("the heading %q follows one of level %d", content(n), headings)
			}
			headings = level
		case "th":
			if attr(n, "scope") == "" {
				t.Errorf("the header %q of a table has no scope", content(n))
			}
		case "button":
			if content(n) == "" && attr(n, "aria-label") == "" {
				t.Error("a button has no name")
			}
		}
	}
	if !policy {
		t.Error("the page has no Content-Security-Policy")
	}
	for ref := range refs {
		if !ids[ref] {
			t.Errorf("there is no element %q", ref)
		}
	}
	if bytes.Contains(raw, []byte("ZgotmplZ")) {
		t.Error("the template refused a value")
	}
}

// TestPagesEscape: nothing that a module says becomes markup, script, style or
// a control character.
func TestPagesEscape(t *testing.T) {
	for _, evil := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</title></style></script><b>", "javascript:alert(1)", "a' onmouseover='x", "\xff\xfe\x00\x1b[2J\u202e]]>", "{{.}}", "<!--", "&lt;b&gt;",
	} {
		r := hostileResult(evil)
		raw, root := page(t, report.HTMLOptions{Title: evil, Generator: evil, Date: evil, Checks: []report.Check{{Name: evil, Verdict: harness.Verdict(evil), Summary: evil, Findings: []report.CheckFinding{{evil, evil, evil, evil, evil}}}}}, r, r)
		if bytes.ContainsFunc(raw, func(c rune) bool {
			return c < ' ' && c != '\n' || c == '\u202e' || c == '\ufffd' && !strings.Contains(evil, "\xff")
		}) {
			t.Errorf("%q: the page holds a control character", evil)
		}
		checkSelfContained(t, raw, root)
		scripts := 0
		for _, n := range elements(root) {
			if n.Data == "script" {
				scripts++
			}
		}
		if scripts != 1 {
			t.Errorf("%q: the page has %d scripts", evil, scripts)
		}
	}
}

// hostileResult has a text in every place.
func hostileResult(s string) *harness.Result {
	role := contract.Role(s)
	step := harness.StoryStep{Type: harness.EventType(s), Actor: s, Object: s, With: s, Event: s, Gate: s, Op: harness.Op(s), Took: 1}
	var steps []harness.StoryStep
	for n, typ := range append(harness.EventTypes(), harness.EventType(s)) {
		step.At, step.Type, step.Object = float64(n*100), typ, "Machine/"+s
		steps = append(steps, step)
	}
	return &harness.Result{
		Verdict: harness.Verdict(s), Scenario: s, Title: s, ScenarioFile: s, ControlPlane: s, Runtime: s, Contract: s, Error: s, Kept: s, Command: s, Left: []string{s},
		Modules: map[contract.Role]string{contract.RoleCluster: s, role: s}, Stalled: &harness.Stall{Gate: s, WaitsFor: s, Object: s, Output: s, Requirement: s, Message: s, Remedy: s, At: -5},
		Requirements: []harness.Requirement{
			{ID: s, Role: role, Status: harness.Status(s), Level: s, Title: s, Reason: s, Remedy: s, Evidence: []string{s}, Proof: []harness.Proof{{
				Object: s, Op: harness.Op(s), Probe: s, Changes: []harness.PlannedChange{{Address: s, Action: harness.Action(s)}}, Outputs: []harness.OutputValue{{Name: s, Value: s, Place: s}}, State: []string{s},
			}}},
			{ID: s, Role: role, Status: harness.StatusFailed},
			{ID: s, Status: harness.StatusManual, Reason: s},
		},
		Notes: []harness.Note{{Role: role, Message: s, Place: s}}, Steps: steps,
		Objects: []harness.Inventoried{{Object: s, Role: role, Addresses: []string{s}, Remaining: 1, RemainingAddresses: []string{s}}}, LeftInCloud: []harness.CloudObject{{Type: s, ID: s, Owner: s, Address: s}},
		Faults: []harness.FaultRecord{{Kind: harness.FaultKind(s), Object: s, Op: harness.Op(s), Effect: s, Reaction: []string{s}, Left: []harness.CloudObject{{Type: s, ID: s}}}}, NotPlayed: []harness.NotPlayed{{Scenario: s, Title: s, Reason: s}},
		Membership: map[contract.Role]harness.MembershipInfo{contract.RoleCluster: {Pattern: harness.Pattern(s), Members: []string{s}}}, Simulated: []harness.Simulated{{Provider: s, Schema: s, Behaviour: s, Unchecked: []string{s}}},
	}
}

// FuzzPage puts any text into every place of a page.
func FuzzPage(f *testing.F) {
	f.Add("plain")
	f.Add("</script><script>alert(1)</script>")
	f.Add("\xff\xfe\x1b[31m\r\n\t \u2028")
	f.Fuzz(func(t *testing.T, s string) {
		raw, root := page(t, report.HTMLOptions{Title: s}, hostileResult(s))
		checkSelfContained(t, raw, root)
	})
}

// TestLongStories: a page stays of a size that a phone opens, and says what it leaves out.
func TestLongStories(t *testing.T) {
	r := *results()["passed"]
	r.Steps = nil
	for n := range 10000 {
		r.Steps = append(r.Steps, harness.StoryStep{
			At: float64(n * 7), Type: harness.EventTypes()[n%len(harness.EventTypes())], Actor: "captf", Object: fmt.Sprintf("TerraformMachine/demo-%d", n%300),
			Event: "apply fails: " + strings.Repeat("long ", 30), Op: harness.OpApply, Gate: "captf/x",
		})
	}
	r.Requirements = append(slices.Clone(r.Requirements), harness.Requirement{
		ID: "CP-035", Status: harness.StatusFailed, Reason: strings.Repeat("x", 1<<20), Evidence: slices.Repeat([]string{strings.Repeat("é", 1<<16)}, 50),
	})
	raw, root := page(t, report.HTMLOptions{}, &r)
	if len(raw) > 4<<20 {
		t.Errorf("the page has %d bytes", len(raw))
	}
	if text := content(root); !strings.Contains(text, "4000 steps in the middle are not listed here") || !strings.Contains(text, "more objects are not drawn") {
		t.Error("the page does not say what it leaves out")
	}
	all := slices.Repeat([]*harness.Result{&r}, 8)
	several := write(t, func(w io.Writer) error { return report.HTML(w, report.HTMLOptions{}, all...) })
	if len(several) > 12<<20 {
		t.Errorf("a page of 8 long stories has %d bytes", len(several))
	}
}

func TestSentences(t *testing.T) {
	rs := pageResults()
	for name, want := range map[string]string{
		"passed":  "All 2 requirements that apply hold; 1 question is left for a person.",
		"failed":  "2 of 4 requirements that apply do not hold: contract/provider_id, CP-035.",
		"stalled": "Stalled after 1:02:05: Machine/demo-cp-1 waits for a provider_id that is not null.",
		"error":   "It could not run: running apply for TerraformCluster/demo: interrupted.",
	} {
		if got := report.Sentence(rs[name]); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	left := *rs["passed"]
	left.Verdict, left.Left = harness.VerdictFailed, []string{"TerraformCluster/demo"}
	if got, want := report.Sentence(&left), "Infrastructure was left behind: TerraformCluster/demo."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
