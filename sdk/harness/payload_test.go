package harness

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

// testPayload is a payload of the given length, every line of it another.
func testPayload(lines int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("## template: jinja\n#cloud-config\n")
	for n := range lines {
		fmt.Fprintf(&b, "- line %d:  %x\n", n, rng.Uint64())
	}
	return b.Bytes()
}

func TestJudgePassage(t *testing.T) {
	data := testPayload(40)
	text, encoded := string(data), base64.StdEncoding.EncodeToString(data)
	s256, s1 := sha256.Sum256([]byte(encoded)), sha1.Sum(data)
	pack := func(b []byte) string {
		return base64.StdEncoding.EncodeToString(gzipped(contract.Bootstrap{Data: b}).Data)
	}
	for _, tt := range []struct {
		name   string
		values map[string]any
		want   Status
	}{
		{"as it is", map[string]any{"user_data": text}, StatusPassed},
		{"base64", map[string]any{"user_data_base64": encoded}, StatusPassed},
		{"packed", map[string]any{"user_data_base64": pack(data)}, StatusPassed},
		{"in something larger", map[string]any{"content": "MIME-Version: 1.0\n\n" + text + "--end--"}, StatusPassed},
		{"packed in something larger", map[string]any{"content": pack([]byte("MIME-Version: 1.0\n\n" + text + "--end--"))}, StatusPassed},
		{"digest of base64", map[string]any{"deep": []any{map[string]any{"sha": hex.EncodeToString(s256[:])}}}, StatusPassed},
		{"digest in base64", map[string]any{"sha": "sha256-" + base64.StdEncoding.EncodeToString(s256[:])}, StatusPassed},
		{"digest in capitals", map[string]any{"sha": strings.ToUpper(hex.EncodeToString(s1[:]))}, StatusPassed},
		{"whole and a part", map[string]any{"a_part": text[:len(text)-1], "whole": text}, StatusPassed},

		{"last line break gone", map[string]any{"user_data": strings.TrimSpace(text)}, StatusFailed},
		{"last line break gone, base64", map[string]any{"user_data": base64.StdEncoding.EncodeToString(bytes.TrimSpace(data))}, StatusFailed},
		{"last line break gone, packed", map[string]any{"user_data": pack(bytes.TrimSpace(data))}, StatusFailed},
		{"digest, and the last line break gone", map[string]any{"user_data": strings.TrimSpace(text), "sha": hex.EncodeToString(s256[:])}, StatusFailed},
		{"first line gone", map[string]any{"user_data": strings.TrimPrefix(text, "## template: jinja\n")}, StatusFailed},
		{"one word changed", map[string]any{"user_data": strings.Replace(text, "line 7:", "LINE SEVEN:", 1)}, StatusFailed},
		{"other line ends", map[string]any{"user_data": strings.ReplaceAll(text, "\n", "\r\n")}, StatusFailed},
		{"spaces gone", map[string]any{"user_data": strings.ReplaceAll(text, "  ", " ")}, StatusFailed},

		{"pieces", map[string]any{"one": text[:len(text)/2], "two": text[len(text)/2:]}, StatusManual},
		{"another digest", map[string]any{"crc": "cafebabe"}, StatusManual},
		{"inside of something larger, indented", map[string]any{"content": "a:\n  - b: |\n" + strings.ReplaceAll(text, "\n", "\n      ")}, StatusManual},
		{"a stub", map[string]any{"user_data": "#include https://example.com/stub"}, StatusManual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := json.Marshal(map[string]any{"x_instance.this": map[string]any{"values": tt.values}})
			if err != nil {
				t.Fatal(err)
			}
			f := judgePassage(raw, contract.Bootstrap{Data: data, Format: "cloud-config"})
			if f.status != tt.want {
				t.Errorf("status is %s (%s %v), want %s", f.status, f.reason, f.evidence, tt.want)
			}
			said := f.reason + strings.Join(f.evidence, "")
			if f.status != StatusManual && !strings.Contains(said, "x_instance.this: ") {
				t.Errorf("%q names no place", said)
			}
			if strings.Contains(said, "line 1") {
				t.Errorf("%q shows the payload", said)
			}
		})
	}
}

// A payload cut into pieces of any size is never taken for a changed one, as
// long as no piece is nearly all of it.
func TestPiecesAreNotChanges(t *testing.T) {
	data := testPayload(40)
	for pieces := 2; pieces < 20; pieces++ {
		size := (len(data) + pieces - 1) / pieces
		var values []string
		for from := 0; from < len(data); from += size {
			values = append(values, string(data[from:min(from+size, len(data))]))
		}
		raw, err := json.Marshal(map[string]any{"x.y": map[string]any{"values": values}})
		if err != nil {
			t.Fatal(err)
		}
		if seen := follow(raw, data); seen != (passage{}) {
			t.Errorf("%d pieces: %+v", pieces, seen)
		}
	}
}

// Whatever a module plans, looking at it ends and blames nothing that is not there.
func FuzzFollow(f *testing.F) {
	data := testPayload(20)
	f.Add([]byte("\x1f\x8b\x08"), 3)
	f.Add(data[:len(data)-1], 0)
	f.Add(gzipped(contract.Bootstrap{Data: data}).Data, 5)
	f.Fuzz(func(t *testing.T, value []byte, n int) {
		raw, err := json.Marshal(map[string]any{"x.y": map[string]any{"values": []any{string(value), n, base64.StdEncoding.EncodeToString(value)}}})
		if err != nil {
			t.Fatal(err)
		}
		seen := follow(raw, data)
		if bytes.Contains(value, data) && seen.whole == "" {
			t.Errorf("the whole payload is not found: %+v", seen)
		}
	})
}
