package version

import (
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	if v := Get(); v.Version == "" || v.Go == "" || !strings.Contains(v.Platform, "/") {
		t.Errorf("Get() = %+v", v)
	}
	version, commit = "v1.2.3", "abc"
	t.Cleanup(func() { version, commit = "", "" })
	if v := Get(); v.Version != "v1.2.3" || v.Commit != "abc" {
		t.Errorf("stamped, Get() = %+v", v)
	}
	if got := UserAgent("captf-manager"); !strings.HasPrefix(got, "captf-manager/v1.2.3 (") {
		t.Errorf("UserAgent() = %q", got)
	}
}
