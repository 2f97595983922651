package format

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/captf-toolkit/captf/lint"
)

// The types below are the part of SARIF 2.1.0 that is written. A library would
// bring a schema validator into the binary; instead a test validates the output
// against the published schema.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string       `json:"id"`
		ShortDescription     sarifMessage `json:"shortDescription"`
		FullDescription      sarifMessage `json:"fullDescription"`
		Help                 sarifMessage `json:"help"`
		HelpURI              string       `json:"helpUri"`
		DefaultConfiguration sarifConfig  `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifMessage       `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// levels are the SARIF names of the severities.
var levels = map[lint.Severity]string{
	lint.SeverityError: "error", lint.SeverityWarning: "warning", lint.SeverityInfo: "note",
}

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	projectURI  = "https://github.com/captf-toolkit/captf"
	// DocsURI is the page with a section for every check.
	DocsURI = projectURI + "/blob/main/docs/reference/lint.md"
)

// HelpURI returns the address of the documentation of a check.
func HelpURI(id string) string { return DocsURI + "#" + strings.ReplaceAll(id, "/", "") }

// SARIF writes a SARIF 2.1.0 log with one run. A finding about a whole module
// is at its directory, without a region; a module that cannot be read makes the
// invocation unsuccessful.
func SARIF(w io.Writer, r Result, _ Options) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "tfcapi-lint", Version: r.Version, InformationURI: projectURI, Rules: sarifRules(r.Rules),
		}},
		Results:    []sarifResult{},
		ColumnKind: "utf16CodeUnits",
	}
	index := map[string]int{}
	for i, rule := range r.Rules {
		index[rule.ID] = i
	}
	invocation := sarifInvocation{ExecutionSuccessful: true}
	for _, m := range r.Modules {
		if m.Report == nil {
			invocation.ExecutionSuccessful = false
			invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, notifications(m)...)
			continue
		}
		for _, f := range m.Report.Findings {
			run.Results = append(run.Results, sarifFinding(m, f, index[f.ID]))
		}
	}
	run.Invocations = []sarifInvocation{invocation}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRules(rules []lint.Rule) []sarifRule {
	out := make([]sarifRule, 0, len(rules))
	for _, rule := range rules {
		out = append(out, sarifRule{
			ID:                   rule.ID,
			ShortDescription:     sarifMessage{rule.Summary},
			FullDescription:      sarifMessage{rule.Why},
			Help:                 sarifMessage{rule.Fix},
			HelpURI:              HelpURI(rule.ID),
			DefaultConfiguration: sarifConfig{levels[rule.Severities[0]]},
		})
	}
	return out
}

func sarifFinding(m Module, f lint.Finding, index int) sarifResult {
	res := sarifResult{
		RuleID: f.ID, RuleIndex: index, Level: levels[f.Severity],
		Message:   sarifMessage{printable(withRemedy(f))},
		Locations: []sarifLocation{location(m, f)},
	}
	if f.Allowed != "" {
		res.Suppressions = []sarifSuppression{{Kind: "inSource", Justification: printable(f.Allowed)}}
		if f.AllowedOutside {
			res.Suppressions[0].Kind = "external"
		}
	}
	return res
}

func location(m Module, f lint.Finding) sarifLocation {
	if f.WholeModule() {
		return sarifLocation{sarifPhysical{ArtifactLocation: sarifArtifact{fileURI(m.Path)}}}
	}
	if f.Line == 0 { // a file of an image that has no lines
		return sarifLocation{sarifPhysical{ArtifactLocation: sarifArtifact{fileURI(joinPath(m.Path, f.File))}}}
	}
	region := &sarifRegion{StartLine: f.Line, StartColumn: f.UTF16Column, EndLine: f.EndLine, EndColumn: f.UTF16EndColumn}
	return sarifLocation{sarifPhysical{ArtifactLocation: sarifArtifact{fileURI(joinPath(m.Path, f.File))}, Region: region}}
}

func notifications(m Module) []sarifNotification {
	var out []sarifNotification
	for _, p := range problems(m) {
		n := sarifNotification{Level: "error", Message: sarifMessage{printable(p.Message)}}
		at := sarifPhysical{ArtifactLocation: sarifArtifact{fileURI(joinPath(m.Path, p.File))}}
		if p.File == "" {
			at.ArtifactLocation.URI = fileURI(m.Path)
		}
		if p.Line > 0 {
			at.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.UTF16Column}
		}
		n.Locations = []sarifLocation{{at}}
		out = append(out, n)
	}
	return out
}

// fileURI writes a path as a relative reference, or as a file URI if absolute.
func fileURI(p string) string {
	p = strings.ToValidUTF8(p, "\ufffd")
	u := url.URL{Path: path.Clean(p)}
	if path.IsAbs(p) {
		u.Scheme = "file"
	}
	return u.String()
}
