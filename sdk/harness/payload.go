package harness

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"  //nolint:gosec // clouds and providers record it
	"crypto/sha1" //nolint:gosec // clouds and providers record it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"unicode"

	"github.com/captf-toolkit/captf/contract"
)

// maxUnpacked bounds what is unpacked of a planned value.
const maxUnpacked = 4 << 20

// passage is what a plan shows of a payload's way to the instance.
type passage struct {
	// whole is where the payload stands unchanged, "" where nowhere; digest is
	// where a digest of it stands.
	whole, digest string
	// changed is where something stands that is the payload but for a few changes.
	changed string
}

// follow looks for a bootstrap payload in planned content: as it is, encoded,
// packed or inside of something larger; as a digest; or with changes.
func follow(planned json.RawMessage, data []byte) passage {
	var seen passage
	digests := digestsOf(data)
	note := func(at *string, path []string) {
		if *at == "" {
			*at = attributePath(path)
		}
	}
	walkJSON(planned, func(path []string, value any) {
		text, ok := value.(string)
		if !ok {
			return
		}
		for _, digest := range digests {
			if strings.Contains(strings.ToLower(text), digest) || strings.Contains(text, digest) {
				note(&seen.digest, path)
				return
			}
		}
		for form := []byte(text); form != nil; form = unpack(form) {
			switch {
			case bytes.Contains(form, data), bytes.Contains(form, []byte(base64.StdEncoding.EncodeToString(data))):
				note(&seen.whole, path)
				return
			case almost(form, data):
				note(&seen.changed, path)
				return
			}
		}
	})
	return seen
}

// attributePath writes a path inside planned content as address: attribute.
func attributePath(path []string) string {
	if len(path) < 3 {
		return strings.Join(path, ".")
	}
	return path[0] + ": " + strings.Join(path[2:], ".") // path[1] says that values follow
}

// digestsOf returns the digests by which a payload may be recorded, of its
// bytes and of their base64 form, in hexadecimal and in base64.
func digestsOf(data []byte) []string {
	var out []string
	for _, form := range [][]byte{data, []byte(base64.StdEncoding.EncodeToString(data))} {
		m, s1, s256, s512 := md5.Sum(form), sha1.Sum(form), sha256.Sum256(form), sha512.Sum512(form) //nolint:gosec // see the imports
		for _, sum := range [][]byte{m[:], s1[:], s256[:], s512[:]} {
			out = append(out, hex.EncodeToString(sum), base64.StdEncoding.EncodeToString(sum))
		}
	}
	return out
}

// unpack takes one layer of base64 or gzip off; nil when there is none.
func unpack(form []byte) []byte {
	if bytes.HasPrefix(form, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(form))
		if err != nil {
			return nil
		}
		out, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
		if err != nil {
			return nil
		}
		return out
	}
	out, err := base64.StdEncoding.DecodeString(string(form))
	if err != nil || len(out) == 0 {
		return nil
	}
	return out
}

// Parts of a payload that tell a changed payload from a part of one: a payload
// may be cut into pieces and put together again.
const (
	leastCommon  = 0.9 // of the payload stands at the beginning and the end of the other
	mostLonger   = 1.1 // as long as the payload is the other at most
	leastPayload = 256 // bytes below which nothing can be told
)

// almost tells that form is the payload but for a few changes: cut at an end,
// changed in one place, or with other whitespace.
func almost(form, data []byte) bool {
	if len(data) < leastPayload || float64(len(form)) > mostLonger*float64(len(data)) || bytes.Equal(form, data) {
		return false
	}
	shorter := min(len(form), len(data))
	start := 0
	for start < shorter && form[start] == data[start] {
		start++
	}
	end := 0
	for end < shorter-start && form[len(form)-1-end] == data[len(data)-1-end] {
		end++
	}
	if float64(start+end) >= leastCommon*float64(len(data)) {
		return true
	}
	return bytes.Equal(squeeze(form), squeeze(data))
}

// squeeze removes all whitespace.
func squeeze(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// judgePassage judges whether a payload that reaches the plan reaches it
// unchanged (CP-047). Where the plan does not show it, a person has to look.
func judgePassage(planned json.RawMessage, b contract.Bootstrap) finding {
	f := finding{id: "CP-047", role: contract.RoleMachine}
	seen := follow(planned, b.Data)
	switch {
	case seen.whole != "":
		f.status, f.evidence = StatusPassed, []string{"the " + b.Format + " payload stands unchanged in " + seen.whole}
	case seen.changed != "":
		f.status = StatusFailed
		f.reason = "the " + b.Format + " payload is changed on its way: " + seen.changed + " has most of it, but not all of its bytes"
	case seen.digest != "":
		f.status, f.evidence = StatusPassed, []string{"a digest of the unchanged " + b.Format + " payload stands in " + seen.digest}
	default:
		f.status, f.reason = StatusManual, "does the instance receive the "+b.Format+" payload byte for byte? "+
			"It reaches the plan, which shows neither the payload nor a digest of it"
	}
	return f
}

// judgePacked judges that packed bootstrap data of the story reached the state
// of a machine unchanged (CP-047).
func (p *play) judgePacked(in *contract.MachineInputs, run *Run) {
	if !p.w.Bootstrap.Gzip || !in.ControlPlane {
		return
	}
	stored := map[string]any{}
	for _, r := range run.Resources {
		stored[r.Address] = map[string]any{"values": r.Values}
	}
	raw, err := json.Marshal(stored)
	if err != nil {
		return // attributes were read from JSON
	}
	p.rec.add(judgePassage(raw, in.Bootstrap))
}
