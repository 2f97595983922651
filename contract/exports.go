package contract

import "encoding/json"

// MaxPublishedExports is the size of the copy of exports in a cluster's
// status, in bytes of compact JSON (contract.md 9.2).
const MaxPublishedExports = 65_536

// PublishExports returns the copy of exports for a cluster's status, and
// whether there is one: a value that is too large is not published, the field
// is cleared and the event ExportsNotPublished says so (B-297). Machines and
// pools get the value in any case. No value is published as {}.
func PublishExports(exports json.RawMessage) (json.RawMessage, bool) {
	value, broken := ParseJSON("exports", exports)
	if len(exports) == 0 || broken == nil && value == nil {
		return json.RawMessage("{}"), true
	}
	if broken != nil {
		return nil, false
	}
	compact, broken := CanonicalJSON("exports", value)
	if broken != nil || len(compact) > MaxPublishedExports {
		return nil, false
	}
	return compact, true
}
