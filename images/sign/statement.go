package sign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// PayloadType is the type of an envelope that holds an in-toto statement.
const PayloadType = "application/vnd.in-toto+json"

// StatementType is the type of the statements that are written; that of the
// version 0.1, which has the same fields, is read too.
const StatementType = "https://in-toto.io/Statement/v1"

const oldStatementType = "https://in-toto.io/Statement/v0.1"

// The predicate types.
const (
	// PredicateSignature says no more than that the image is signed; it is what
	// cosign calls a signature since version 3.
	PredicateSignature = "https://sigstore.dev/cosign/sign/v1"
	// PredicateSPDX is a bill of materials.
	PredicateSPDX = "https://spdx.dev/Document"
	// PredicateProvenance is how an image was built.
	PredicateProvenance = "https://slsa.dev/provenance/v1"
)

// Statement is an in-toto statement: a claim of a type about subjects.
type Statement struct {
	Type          string          `json:"_type"`
	Subject       []Subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// Subject is what a statement is about.
type Subject struct {
	Name string `json:"name,omitempty"`
	// Digest has digests in hexadecimal by algorithm.
	Digest map[string]string `json:"digest"`
}

// NewStatement returns a statement about the image with the digest. The name is
// its reference, or empty; it is for people only.
func NewStatement(name string, digest v1.Hash, predicateType string, predicate json.RawMessage) Statement {
	return Statement{
		Type:          StatementType,
		Subject:       []Subject{{Name: name, Digest: map[string]string{digest.Algorithm: digest.Hex}}},
		PredicateType: predicateType, Predicate: predicate,
	}
}

// NewSignature returns the statement that signs the image.
func NewSignature(digest v1.Hash) Statement {
	return NewStatement("", digest, PredicateSignature, json.RawMessage("{}"))
}

// Payload returns the statement as the payload of an envelope, the same for the
// same statement.
func (s Statement) Payload() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return nil, fmt.Errorf("writing statement: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ParseStatement reads a payload. A name used twice in an object is refused,
// because readers would differ about what was signed.
func ParseStatement(payload []byte) (Statement, error) {
	var s struct {
		Type          string          `json:"_type"`
		Subject       []Subject       `json:"subject"`
		PredicateType string          `json:"predicateType"`
		Predicate     json.RawMessage `json:"predicate"`
	}
	if err := unmarshal(payload, &s); err != nil {
		return Statement{}, Errorf(ErrFormat, "its statement is not valid JSON: %s", printable(err.Error()))
	}
	switch {
	case s.Type != StatementType && s.Type != oldStatementType:
		return Statement{}, Errorf(ErrFormat, "its payload is %q, not an in-toto statement", printable(s.Type))
	case len(s.Subject) == 0:
		return Statement{}, Errorf(ErrFormat, "its statement has no subject")
	case s.PredicateType == "":
		return Statement{}, Errorf(ErrFormat, "its statement has no predicate type")
	}
	return Statement(s), nil
}

// About tells whether one of the subjects is the image with the digest.
func (s Statement) About(digest v1.Hash) bool {
	for _, subject := range s.Subject {
		if got, ok := subject.Digest[digest.Algorithm]; ok && got == digest.Hex {
			return true
		}
	}
	return false
}

// CheckSubject returns an ErrSubject unless the statement is about the image.
func (s Statement) CheckSubject(digest v1.Hash) error {
	if s.About(digest) {
		return nil
	}
	first := s.Subject[0]
	about := first.Name
	if hex, ok := first.Digest["sha256"]; ok {
		about = "sha256:" + hex
	}
	return Errorf(ErrSubject, "it is about %s", printable(about))
}

// unmarshal reads one JSON value strictly.
func unmarshal(raw []byte, into any) error {
	err := jsonv2.Unmarshal(raw, into)
	if err == io.EOF { //nolint:errorlint // The decoder returns it bare for an empty document.
		return io.ErrUnexpectedEOF
	}
	return err
}
