package state

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// TestParse pins what is read of a state.
func TestParse(t *testing.T) {
	st, err := Parse([]byte(`{
		"version": 4, "terraform_version": "1.9.0", "serial": 18446744073709551615, "lineage": "l", "future": {"a": 1},
		"outputs": {
			"s": {"value": "x", "type": "string", "sensitive": true},
			"n": {"value": null, "type": "string"},
			"absent": {"type": "string"},
			"o": {"value": {"a": [1, 2.5]}, "type": ["object", {"a": ["tuple", ["number", "number"]]}]}
		},
		"resources": [
			{"mode": "managed", "type": "a", "name": "counted", "instances": [{"index_key": 0}, {"index_key": 1}]},
			{"mode": "managed", "type": "a", "name": "gone", "instances": []},
			{"mode": "data", "type": "a", "name": "read", "instances": [{}]},
			{"module": "module.m[\"a\"]", "mode": "managed", "type": "a", "name": "x", "instances": [{"deposed": "1234"}]},
			{"module": "module.m[\"b\"]", "mode": "managed", "type": "a", "name": "x", "instances": [{}]}
		]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &State{
		Serial: 18446744073709551615, Lineage: "l", Resources: 3,
		Outputs: map[string]Output{
			"s": {Value: []byte(`"x"`), Type: []byte(`"string"`), Sensitive: true},
			"o": {Value: []byte(`{"a": [1, 2.5]}`), Type: []byte(`["object", {"a": ["tuple", ["number", "number"]]}]`)},
		},
	}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`"x"`, `{"a": [1, 2.5]}`}, []string{string(st.Values()["s"]), string(st.Values()["o"])}); diff != "" {
		t.Error(diff)
	}
	if st, err := Parse([]byte(`{"version": 4, "serial": 3, "lineage": "l"}`)); err != nil || st.Serial != 3 || st.Outputs == nil {
		t.Errorf("an empty state: %+v, %v", st, err)
	}
}

// FuzzParse holds that whatever a state is, it is read or said to be unreadable with a reason of the sheet.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"version":4}`, `{"version":4,"serial":1,"lineage":"l","outputs":{"a":{"value":1,"type":"number"}}}`,
		`{"version":4,"outputs":{"a":null},"resources":[null,{"mode":"managed","instances":[null]}]}`, `{"encryption_version":"v0"}`,
		`{"version":4,"serial":-1}`, `{"version":4e0}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		st, err := Parse(raw)
		if (st == nil) == (err == nil) {
			t.Fatalf("state %v and error %v", st, err)
		}
		var unreadable *Unreadable
		if err != nil && (!errors.As(err, &unreadable) ||
			unreadable.Reason != infrav1.StateCorruptReason && unreadable.Reason != infrav1.StateEncryptedReason) {
			t.Fatalf("error %v", err)
		}
		gz, err := compress(raw)
		if err != nil {
			t.Fatal(err)
		}
		back, used, err := decompress(append(bytes.Clone(gz), 0x1f, 0x8b, 0))
		if err != nil || used != len(gz) || !bytes.Equal(back, raw) {
			t.Fatalf("compressed and back: %d of %d bytes, %v", used, len(gz), err)
		}
	})
}

// FuzzDecompress reads what may be in a Secret.
func FuzzDecompress(f *testing.F) {
	gz, err := compress([]byte(`{"version":4}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(gz)
	f.Add(gz[:8])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, used, err := decompress(data)
		if err == nil && (used > len(data) || len(raw) > MaxBytes) {
			t.Fatalf("used %d of %d bytes, got %d", used, len(data), len(raw))
		}
	})
}
