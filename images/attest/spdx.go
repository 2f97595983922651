package attest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/github/go-spdx/v2/spdxexp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/package-url/packageurl-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/captf-toolkit/captf/contract/image"
)

const noAssertion = "NOASSERTION"

// SBOM returns the bill of materials of an image as SPDX 2.3 JSON. The tool is who
// makes it, such as captf-1.2.0.
func SBOM(d Description, tool string) ([]byte, error) {
	b := bill{doc: &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: title(d) + " " + d.Platform.String(),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: tool}},
			Created:  d.Created.Format(time.RFC3339),
			CreatorComment: "Lists the module, its providers, the runtime, and the Go modules that these are built from. " +
				"Packages of the base image's operating system are not listed.",
		},
	}}
	b.image(d)
	if err := spdxlib.ValidateDocument(b.doc); err != nil {
		return nil, fmt.Errorf("writing the bill of materials: %w", err)
	}
	raw, err := b.json()
	if err != nil {
		return nil, err
	}
	// The namespace names this document only: the image, and what is said of it.
	sum := sha256.Sum256(raw)
	b.doc.DocumentNamespace = fmt.Sprintf("urn:captf:spdx:%s:%s", d.Digest.Hex, hex.EncodeToString(sum[:]))
	return b.json()
}

// bill is a document being made.
type bill struct {
	doc *spdx.Document
}

func (b *bill) json() ([]byte, error) {
	var out bytes.Buffer
	if err := spdxjson.Write(b.doc, &out, spdxjson.EscapeHTML(false), spdxjson.Indent(" ")); err != nil {
		return nil, fmt.Errorf("writing the bill of materials: %w", err)
	}
	return out.Bytes(), nil
}

// add adds a package with an identifier made of parts.
func (b *bill) add(p *spdx.Package, parts ...string) *spdx.Package {
	p.PackageSPDXIdentifier = common.ElementID(identifier(parts...))
	p.PackageDownloadLocation = cmp.Or(p.PackageDownloadLocation, noAssertion)
	p.PackageLicenseConcluded = noAssertion
	p.PackageLicenseDeclared = cmp.Or(p.PackageLicenseDeclared, noAssertion)
	p.PackageCopyrightText = noAssertion
	b.doc.Packages = append(b.doc.Packages, p)
	return p
}

// identifier makes an SPDX identifier, of letters, digits, dots and dashes. What
// is lost by that is made up by a digest, so that no two are the same.
func identifier(parts ...string) string {
	whole := strings.Join(parts, "-")
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, whole)
	if clean == whole {
		return clean
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return clean + "-" + hex.EncodeToString(sum[:6])
}

func (b *bill) relate(from *spdx.Package, relation string, to *spdx.Package) {
	b.doc.Relationships = append(b.doc.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(from.PackageSPDXIdentifier)), Relationship: relation,
		RefB: common.MakeDocElementID("", string(to.PackageSPDXIdentifier)),
	})
}

func (b *bill) image(d Description) {
	img := b.add(&spdx.Package{
		PackageName: title(d), PackageVersion: d.Labels[ocispec.AnnotationVersion], PrimaryPackagePurpose: "CONTAINER",
		PackageChecksums: sha256sum(d.Digest.Hex), PackageComment: "the image for " + d.Platform.String(),
	}, "image")
	b.doc.Relationships = append(b.doc.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", "DOCUMENT"), Relationship: common.TypeRelationshipDescribe,
		RefB: common.MakeDocElementID("", "image"),
	})
	module := b.module(d)
	runtime := b.runtime(d)
	b.relate(img, common.TypeRelationshipContains, module)
	b.relate(img, common.TypeRelationshipContains, runtime)
	built := map[*spdx.Package][]Program{runtime: {d.Runtime}}
	order := []*spdx.Package{runtime}
	for _, p := range d.Providers {
		pkg := b.provider(p)
		b.relate(img, common.TypeRelationshipContains, pkg)
		b.relate(module, common.TypeRelationshipDependsOn, pkg)
		built[pkg] = p.Programs
		order = append(order, pkg)
	}
	b.goModules(order, built)
}

func (b *bill) module(d Description) *spdx.Package {
	p := &spdx.Package{
		PackageName: title(d) + " module", PackageVersion: d.Labels[ocispec.AnnotationVersion], PrimaryPackagePurpose: "SOURCE",
		PackageFileName: image.ModulePath, PackageDownloadLocation: sourceLocation(d.Labels),
		PackageDescription: d.Labels[ocispec.AnnotationDescription],
	}
	if license := d.Labels[ocispec.AnnotationLicenses]; license != "" {
		if ok, _ := spdxexp.ValidateLicenses([]string{license}); ok {
			p.PackageLicenseDeclared = license
		} else {
			p.PackageLicenseComments = fmt.Sprintf("The label %s is %q, which is no SPDX expression.", ocispec.AnnotationLicenses, license)
		}
	}
	return b.add(p, "module")
}

// sourceLocation is where the module's source is, as SPDX writes it, or empty.
func sourceLocation(labels map[string]string) string {
	source, revision := labels[ocispec.AnnotationSource], labels[ocispec.AnnotationRevision]
	if !strings.HasPrefix(source, "https://") || strings.ContainsAny(source, " @#") {
		return ""
	}
	if revision == "" || strings.ContainsAny(revision, " @#") {
		return "git+" + source
	}
	return "git+" + source + "@" + revision
}

// runtimeNames are the names that people know.
var runtimeNames = map[image.Runtime]string{image.OpenTofu: "OpenTofu", image.Terraform: "Terraform"}

func (b *bill) runtime(d Description) *spdx.Package {
	p := &spdx.Package{
		PackageName: cmp.Or(runtimeNames[d.RuntimeKind], "runtime"), PackageVersion: d.RuntimeVersion, PrimaryPackagePurpose: "APPLICATION",
		PackageFileName: d.Runtime.Path, PackageChecksums: sha256sum(d.Runtime.SHA256),
	}
	if build := d.Runtime.Build; build != nil && build.Main.Path != "" && d.RuntimeVersion != "" {
		p.PackageExternalReferences = purl(golangURL(build.Main.Path, "v"+d.RuntimeVersion))
	}
	return b.add(p, "runtime")
}

func (b *bill) provider(p Provider) *spdx.Package {
	namespace, name := p.Provider[:strings.LastIndex(p.Provider, "/")], p.Provider[strings.LastIndex(p.Provider, "/")+1:]
	out := &spdx.Package{
		PackageName: p.Provider, PackageVersion: p.Version, PrimaryPackagePurpose: "ARCHIVE",
		PackageFileName: image.ProvidersPath + "/" + p.Path, PackageChecksums: sha256sum(p.SHA256),
		PackageExternalReferences: purl(packageurl.PackageURL{
			Type: packageurl.TypeTerraform, Namespace: namespace, Name: name, Version: p.Version,
			Qualifiers: packageurl.QualifiersFromMap(map[string]string{"os": p.Platform.OS, "arch": p.Platform.Arch}),
		}),
	}
	if !p.Packed {
		out.PrimaryPackagePurpose = "APPLICATION"
		if len(p.Programs) == 1 {
			out.PackageChecksums = sha256sum(p.Programs[0].SHA256)
			out.PackageFileName = p.Programs[0].Path
		}
	}
	return b.add(out, "provider", p.Provider, p.Version)
}

// goModules adds the Go modules that programs are built from, each once.
func (b *bill) goModules(order []*spdx.Package, built map[*spdx.Package][]Program) {
	type key struct{ path, version string }
	sums := map[key]string{}
	needs := map[*spdx.Package]map[key]bool{}
	for _, p := range order {
		needs[p] = map[key]bool{}
		for _, program := range built[p] {
			for _, m := range modulesOf(program.Build) {
				k := key{m.Path, m.Version}
				sums[k] = cmp.Or(m.Sum, sums[k])
				needs[p][k] = true
			}
		}
	}
	compare := func(a, b key) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.version, b.version))
	}
	packages := map[key]*spdx.Package{}
	for _, k := range slices.SortedFunc(maps.Keys(sums), compare) {
		p := &spdx.Package{
			PackageName: k.path, PackageVersion: k.version, PrimaryPackagePurpose: "LIBRARY",
			PackageExternalReferences: purl(golangURL(k.path, k.version)),
		}
		if sums[k] != "" {
			p.PackageSourceInfo = "go.sum " + sums[k]
		}
		packages[k] = b.add(p, "go", k.path, k.version)
	}
	for _, p := range order {
		for _, k := range slices.SortedFunc(maps.Keys(needs[p]), compare) {
			b.relate(p, common.TypeRelationshipDependsOn, packages[k])
		}
	}
}

// modulesOf returns what a program is built from, replacements in place of what
// they replace, and the standard library, which has vulnerabilities too.
func modulesOf(build *debug.BuildInfo) []debug.Module {
	if build == nil {
		return nil
	}
	var out []debug.Module
	if v, ok := strings.CutPrefix(build.GoVersion, "go"); ok {
		v, _, _ = strings.Cut(v, " ")
		out = append(out, debug.Module{Path: "stdlib", Version: v})
	}
	for _, m := range build.Deps {
		if m.Replace != nil && m.Replace.Version != "" { // Without a version it is a directory.
			m = m.Replace
		}
		out = append(out, debug.Module{Path: m.Path, Version: m.Version, Sum: m.Sum})
	}
	return out
}

// title is what people call the image.
func title(d Description) string { return cmp.Or(d.Labels[ocispec.AnnotationTitle], "module image") }

func sha256sum(hex string) []common.Checksum {
	if hex == "" {
		return nil
	}
	return []common.Checksum{{Algorithm: common.SHA256, Value: hex}}
}

func golangURL(p, version string) packageurl.PackageURL {
	namespace, name := "", p
	if i := strings.LastIndex(p, "/"); i >= 0 {
		namespace, name = p[:i], p[i+1:]
	}
	return packageurl.PackageURL{Type: packageurl.TypeGolang, Namespace: namespace, Name: name, Version: version}
}

func purl(u packageurl.PackageURL) []*spdx.PackageExternalReference {
	return []*spdx.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: u.ToString(),
	}}
}
