package record

// ForState chooses the record that an operation on existing infrastructure is rendered from: a destroy always, a refresh
// or drift check when the current inputs cannot be used (B-375..B-378). The attempt counts before the success if it is a
// later one that may have changed something; then a record with the hash that the state carries; then whichever there is,
// the success first. It returns nil if there is none.
func ForState(attempt, applied *Record, stateHash string) *Record {
	if !attempt.usable() {
		attempt = nil
	}
	if !applied.usable() {
		applied = nil
	}
	if attempt != nil && attempt.MayHaveApplied && (applied == nil || attempt.Job != applied.Job) {
		return attempt
	}
	for _, r := range []*Record{applied, attempt} {
		if r != nil && r.InputsHash == stateHash {
			return r
		}
	}
	if applied != nil {
		return applied
	}
	return attempt
}

// usable tells that a record has files to run; one that only carries marks has none.
func (r *Record) usable() bool { return r != nil && len(r.Root) > 0 && len(r.Values) > 0 }
