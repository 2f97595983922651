package smoke

import (
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	for name, tc := range map[string]struct{ out, errs, want string }{
		"json":        {`{"diagnostics":[{"severity":"warning","summary":"Old"},{"severity":"error","summary":"Bad","detail":"first\nsecond"}]}`, "", "Bad: first"},
		"no detail":   {`{"diagnostics":[{"severity":"error","summary":"Bad"}]}`, "", "Bad"},
		"header":      {"", "╷\n│ Error: No package\n│ \n│   on main.tf\n╵\n", "No package on main.tf"},
		"plain":       {"", "panic: runtime error\n", "panic: runtime error"},
		"nothing":     {"", "", "it said nothing"},
		"no errors":   {`{"diagnostics":[]}`, "it failed", "it failed"},
		"long":        {"", strings.Repeat("a", 4*maxSummary), strings.Repeat("a", maxSummary)},
		"long header": {"", "Error: " + strings.Repeat("é", maxSummary), strings.Repeat("é", maxSummary/2) + "…"},
	} {
		if got := summary([]byte(tc.out), []byte(tc.errs)); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestUserID(t *testing.T) {
	for user, want := range map[string]int{"": 65532, "0": 65532, "root": 65532, "1000": 1000, "1000:0": 1000, "captf": 65532, "-1": 65532} {
		if got := userID(user); got != want {
			t.Errorf("%q: got %d, want %d", user, got, want)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	var l limited
	for range 3 {
		if n, err := l.Write(make([]byte, maxOutput/2)); n != maxOutput/2 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if l.Len() != maxOutput {
		t.Errorf("kept %d bytes, want %d", l.Len(), maxOutput)
	}
}
