package credentials_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/captf-toolkit/captf/provider/internal/credentials"
)

func TestSourceHash(t *testing.T) {
	cases := map[string]map[string][]byte{
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": nil,
		"ef677e4a483f8c241135c989e78c1f9028b74125b38e8b9d273bf7e53a4cd32b": {"token": []byte("x"), "region": {}},
	}
	for want, data := range cases {
		if got := credentials.SourceHash(data); got != want {
			t.Errorf("the hash of %d keys is %s, not %s", len(data), got, want)
		}
	}
}

// Different Secrets have different hashes, wherever a key ends and a value begins (B-519).
func TestSourceHashTellsApart(t *testing.T) {
	text := rapid.StringMatching(`[ab]{0,3}`)
	data := rapid.Custom(func(t *rapid.T) map[string][]byte {
		out := map[string][]byte{}
		for key, value := range rapid.MapOfN(text, text, 0, 4).Draw(t, "data") {
			out[key] = []byte(value)
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := data.Draw(t, "a"), data.Draw(t, "b")
		same := maps.EqualFunc(a, b, slices.Equal[[]byte])
		if (credentials.SourceHash(a) == credentials.SourceHash(b)) != same {
			t.Fatalf("%v and %v", a, b)
		}
	})
}
