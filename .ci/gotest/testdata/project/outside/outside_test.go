package outside

import (
	"testing"

	"example.test/project/bare"
)

func TestBare(t *testing.T) {
	if !bare.Untested() {
		t.Error("false")
	}
}
