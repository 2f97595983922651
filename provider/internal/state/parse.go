package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// State is what the provider reads of a state; nothing else of its content is kept (B-409).
type State struct {
	// Serial grows with every change; Lineage is the same for all versions of one state.
	Serial  uint64
	Lineage string
	// Outputs holds the root outputs. One whose value is null is not in it.
	Outputs map[string]Output
	// Resources counts the managed resources; one with count or for_each counts once.
	Resources int

	// InputsHash and Image are the annotations of the last successful apply on the base Secret, "" without (B-412).
	InputsHash string
	Image      string
	// Bytes is the compressed size, over all parts.
	Bytes int
	// Parts is the number of Secrets that the state uses.
	Parts int
	// Digest is the SHA-256, in hex, of the compressed state; backups carry it too.
	Digest string
	// Interrupted tells that the last write stopped half way, or left something behind. The state is whole; Store.Repair
	// ends the write, so that stock clients can read it again.
	Interrupted bool
}

// Output is a root output.
type Output struct {
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive"`
}

// Values returns the values of the outputs by name, as the contract decodes them.
func (s *State) Values() map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(s.Outputs))
	for name, o := range s.Outputs {
		values[name] = o.Value
	}
	return values
}

// document is a state as a file.
type document struct {
	Version           *uint64           `json:"version"`
	Serial            uint64            `json:"serial"`
	Lineage           string            `json:"lineage"`
	EncryptionVersion json.RawMessage   `json:"encryption_version"`
	EncryptedData     json.RawMessage   `json:"encrypted_data"`
	Outputs           map[string]Output `json:"outputs"`
	Resources         []struct {
		Mode      string     `json:"mode"`
		Instances []struct{} `json:"instances"` // counted, not kept: they are most of a state
	} `json:"resources"`
}

// Parse reads a state as the runtimes write it to a file. The error is an *Unreadable, and never holds anything of the
// content (B-408, B-938).
func Parse(raw []byte) (*State, error) {
	if len(raw) > MaxBytes {
		return nil, corrupt("the state has more than %d bytes", MaxBytes)
	}
	// What encrypts a state may well write nothing else that is expected, so this is looked for by itself and first.
	var envelope struct {
		EncryptionVersion json.RawMessage `json:"encryption_version"`
		EncryptedData     json.RawMessage `json:"encrypted_data"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return nil, corrupt("the state is not a JSON object: %s", position(err))
	}
	if envelope.EncryptionVersion != nil || envelope.EncryptedData != nil {
		return nil, &Unreadable{Reason: infrav1.StateEncryptedReason, Message: "the state is encrypted by the runtime, which the provider" +
			" cannot read: take the `encryption` block out of the module, decrypt the state with the runtime's own means, or take a" +
			" backup, and push it with runner state push --force"}
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, corrupt("the state is not of format version 4: %s", position(err))
	}
	switch {
	case d.Version == nil:
		return nil, corrupt("the state has no format version")
	case *d.Version != 4:
		return nil, corrupt("the state is of format version %d, and only 4 is known", *d.Version)
	}
	s := &State{Serial: d.Serial, Lineage: d.Lineage, Outputs: make(map[string]Output, len(d.Outputs))}
	for name, o := range d.Outputs {
		if o.Value != nil && !bytes.Equal(o.Value, []byte("null")) {
			s.Outputs[name] = o
		}
	}
	for _, r := range d.Resources {
		if r.Mode == "managed" && len(r.Instances) > 0 {
			s.Resources++
		}
	}
	return s, nil
}

// position tells where JSON is wrong. The library's own messages quote what they met, which may be part of a secret.
func position(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("it stops being JSON at byte %d", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%q is not a %s, at byte %d", kind.Field, kind.Type.Kind(), kind.Offset)
	}
	return "it cannot be decoded"
}

var errLong = errors.New("it is too long")

// decompress returns the first gzip member of data, at most MaxBytes, and the length of that member (B-406, B-407).
func decompress(data []byte) (raw []byte, used int, err error) {
	in := bytes.NewReader(data) // an io.ByteReader, so nothing is read beyond the member
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, 0, err
	}
	z.Multistream(false)
	raw, err = io.ReadAll(io.LimitReader(z, MaxBytes+1))
	if err != nil {
		return nil, 0, err
	}
	if len(raw) > MaxBytes {
		return nil, 0, errLong
	}
	return raw, len(data) - in.Len(), nil
}

// compress returns data as one gzip member; equal data gives equal bytes.
func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
