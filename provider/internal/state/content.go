package state

import (
	"encoding/json"
	"slices"
)

// content returns the SHA-256, in hex, of what a state says beside its serial and the results of its checks, which is all
// that a refresh changes that finds nothing new. Versions of one content are as good as each other for a restore. It is ""
// for what is not a JSON object.
func content(raw []byte) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return ""
	}
	delete(fields, "serial")
	delete(fields, "check_results")
	same, err := json.Marshal(fields) // by name, without spaces
	if err != nil {
		return ""
	}
	return digest(same)
}

// keeper returns the backup that makes another one of a version needless, nil if there is none: one of the very version, or
// the newest, if it has the same content. An older one of that content would go before what is newer and worth less.
func keeper(sets []Backup, c *current) *Backup {
	whole := slices.DeleteFunc(slices.Clone(sets), func(b Backup) bool { return !b.Complete })
	if i := slices.IndexFunc(whole, func(b Backup) bool { return b.Digest == c.state.Digest }); i >= 0 {
		return &whole[i]
	}
	if len(whole) > 0 && whole[0].Content != "" && whole[0].Content == content(c.raw) {
		return &whole[0]
	}
	return nil
}
