package attest

import (
	"context"
	"crypto"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf-toolkit/captf/images/referrer"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/sign"
	"github.com/captf-toolkit/captf/images/source"
)

// The media types of documents that are not signed. Signed ones are bundles.
const (
	// TypeSPDX is that of a bill of materials.
	TypeSPDX = "application/spdx+json"
	// TypeStatement is that of an in-toto statement.
	TypeStatement = sign.PayloadType
)

// predicateAnnotation tells of a statement which type it has; buildx uses it too.
const predicateAnnotation = "in-toto.io/predicate-type"

// Kind is what is attached.
type Kind string

// The kinds of documents.
const (
	KindSignature  Kind = "signature"
	KindSBOM       Kind = "sbom"
	KindProvenance Kind = "provenance"
	KindBundle     Kind = "bundle"
)

// predicates are the predicate types by kind.
var predicates = map[Kind]string{
	KindSignature: sign.PredicateSignature, KindSBOM: sign.PredicateSPDX, KindProvenance: sign.PredicateProvenance,
}

// ParsePredicate returns the predicate type that a name stands for: signature,
// sbom, provenance, or the URI of any other.
func ParsePredicate(name string) string {
	if p, ok := predicates[Kind(name)]; ok {
		return p
	}
	return name
}

// Attached is a document that is attached.
type Attached struct {
	Kind Kind `json:"kind"`
	// Subject is what it is attached to: the index, or the image of Platform.
	Subject  v1.Hash `json:"subject"`
	Platform string  `json:"platform,omitempty"`
	// Referrer is the digest of its manifest.
	Referrer v1.Hash `json:"referrer"`
	// Signed tells that it is a signed bundle.
	Signed bool `json:"signed"`
}

// Subject is a manifest that documents are attached to.
type Subject struct {
	v1.Descriptor
	// Platform is os/arch, or empty for an index.
	Platform string
}

// Subjects returns what a reference names: the index and, if all is set, each
// image in it; or the single image.
func Subjects(src *source.Source, all bool) []Subject {
	var out []Subject
	if src.IsIndex() {
		out = append(out, Subject{Descriptor: v1.Descriptor{MediaType: src.MediaType, Digest: src.Digest, Size: int64(len(src.Raw))}})
		if !all {
			return out
		}
	}
	for _, p := range src.Platforms() {
		d := p.Descriptor
		out = append(out, Subject{
			Descriptor: v1.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size},
			Platform:   p.OS + "/" + p.Architecture,
		})
	}
	return out
}

// Covered returns the subjects that must have statements of a type for a reference
// to be verified: what it names, and each image in it if all is set. Bills of
// materials are of images only, so there all of an index are meant.
func Covered(src *source.Source, predicate string, all bool) []Subject {
	if predicate != sign.PredicateSPDX || !src.IsIndex() {
		return Subjects(src, all)
	}
	return Subjects(src, true)[1:]
}

// Options say what to attach.
type Options struct {
	// SBOM and Provenance say which documents.
	SBOM, Provenance bool
	// Tool is who makes the bill of materials, such as captf-1.2.0.
	Tool string
	// Builder is who has built the image.
	Builder Builder
	// Signer signs the documents; nil attaches them as they are.
	Signer crypto.Signer
	// TempDir is for temporary files; empty is the system's.
	TempDir string
}

// describeAll describes every image of a source.
func describeAll(ctx context.Context, src *source.Source, tempDir string) ([]Description, error) {
	var out []Description
	for _, p := range src.Platforms() {
		img, err := src.Load(ctx, p)
		if err != nil {
			return nil, err
		}
		d, err := DescribeImage(ctx, img, tempDir)
		if err != nil {
			return nil, fmt.Errorf("describing the image for %s/%s: %w", p.OS, p.Architecture, err)
		}
		src.Report("described %s", d.Platform)
		out = append(out, d)
	}
	return out, nil
}

// DescribeImage opens the files of an image and describes them.
func DescribeImage(ctx context.Context, img *source.Image, tempDir string) (Description, error) {
	files, err := rootfs.Open(ctx, img, rootfs.Options{Spool: Spool, TempDir: tempDir})
	if err != nil {
		return Description{}, err
	}
	defer files.Close()
	return Describe(ctx, files)
}

// Attach describes all images of a source and attaches the documents: a bill of
// materials to each image, and a provenance to each image and to the index. All
// are made before the first is attached.
func Attach(ctx context.Context, src *source.Source, to referrer.Store, o Options) ([]Attached, error) {
	images, err := describeAll(ctx, src, o.TempDir)
	if err != nil {
		return nil, err
	}
	var work []pending
	for _, s := range Subjects(src, true) {
		about := images
		if s.Platform != "" {
			about = nil
			for _, d := range images {
				if d.Digest == s.Digest {
					about = []Description{d}
				}
			}
		}
		made, err := documents(s, about, o)
		if err != nil {
			return nil, err
		}
		work = append(work, made...)
	}
	return attachAll(ctx, to, work)
}

// pending is an artifact to attach.
type pending struct {
	artifact referrer.Artifact
	result   Attached
}

func attachAll(ctx context.Context, to referrer.Store, work []pending) ([]Attached, error) {
	var out []Attached
	for _, w := range work {
		d, err := to.Attach(ctx, w.artifact)
		if err != nil {
			return out, err
		}
		w.result.Referrer = d.Digest
		out = append(out, w.result)
	}
	return out, nil
}

func documents(s Subject, about []Description, o Options) ([]pending, error) {
	var out []pending
	if o.SBOM && s.Platform != "" {
		doc, err := SBOM(about[0], o.Tool)
		if err != nil {
			return nil, err
		}
		a := referrer.Artifact{Type: TypeSPDX, MediaType: TypeSPDX, Content: doc}
		p, err := document(KindSBOM, s, a, sign.NewStatement("", s.Digest, sign.PredicateSPDX, doc), o.Signer)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if o.Provenance {
		predicate, err := Provenance(about, o.Builder)
		if err != nil {
			return nil, err
		}
		statement := sign.NewStatement("", s.Digest, sign.PredicateProvenance, predicate)
		payload, err := statement.Payload()
		if err != nil {
			return nil, err
		}
		a := referrer.Artifact{
			Type: TypeStatement, MediaType: TypeStatement, Content: payload,
			Annotations: map[string]string{predicateAnnotation: sign.PredicateProvenance},
		}
		p, err := document(KindProvenance, s, a, statement, o.Signer)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// document is a document as it is, or signed.
func document(kind Kind, s Subject, plain referrer.Artifact, statement sign.Statement, signer crypto.Signer) (pending, error) {
	if signer == nil {
		plain.Subject = s.Descriptor
		return pending{plain, Attached{Kind: kind, Subject: s.Digest, Platform: s.Platform}}, nil
	}
	b, err := sign.Sign(statement, signer)
	if err != nil {
		return pending{}, err
	}
	return bundled(kind, s, b)
}

func bundled(kind Kind, s Subject, b *sign.Bundle) (pending, error) {
	annotations, err := b.Annotations()
	if err != nil {
		return pending{}, err
	}
	return pending{
		artifact: referrer.Artifact{
			Type: sign.MediaType, MediaType: sign.MediaType, Content: b.Raw, Subject: s.Descriptor, Annotations: annotations,
		},
		result: Attached{Kind: kind, Subject: s.Digest, Platform: s.Platform, Signed: true},
	}, nil
}

// Sign signs what a reference names, and if all is set each image of an index, and
// attaches the signatures. All are made before the first is attached.
func Sign(ctx context.Context, src *source.Source, to referrer.Store, signer crypto.Signer, all bool) ([]Attached, error) {
	var work []pending
	for _, s := range Subjects(src, all) {
		p, err := document(KindSignature, s, referrer.Artifact{}, sign.NewSignature(s.Digest), signer)
		if err != nil {
			return nil, err
		}
		work = append(work, p)
	}
	return attachAll(ctx, to, work)
}

// AttachBundle attaches a bundle that was made elsewhere to the subject that its
// statement is about. It verifies nothing; a statement about none of the subjects
// is refused.
func AttachBundle(ctx context.Context, src *source.Source, to referrer.Store, b *sign.Bundle) ([]Attached, error) {
	statement, err := b.Statement()
	if err != nil {
		return nil, err
	}
	var work []pending
	for _, s := range Subjects(src, true) {
		if !statement.About(s.Digest) {
			continue
		}
		p, err := bundled(KindBundle, s, b)
		if err != nil {
			return nil, err
		}
		work = append(work, p)
	}
	if len(work) == 0 {
		return nil, fmt.Errorf("attaching the bundle to %s: %w", src.Digest, statement.CheckSubject(src.Digest))
	}
	return attachAll(ctx, to, work)
}
