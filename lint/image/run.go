package image

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/captf-toolkit/captf/contract"
	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/rootfs"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/lint"
	"github.com/captf-toolkit/captf/sdk/module"
)

// Options say what to check of an image.
type Options struct {
	// Role is the role that the module is to play, Contract the version of the
	// contract, Rules the checks of the module inside.
	Role     contract.Role
	Contract contract.Definition
	Rules    []lint.Rule
	// Allow lists warnings that count as info.
	Allow []lint.Allowance
	// Platform is the platform to check; nil is the single image whatever its
	// platform, and linux/amd64 of an index. All checks every platform.
	Platform *contractimage.Platform
	All      bool
	// Source and Read are about opening the reference and reading the layers; the
	// functions of Read that choose files are set here.
	Source source.Options
	Read   rootfs.Options
	// Verify checks the signatures of the opened reference, nil checks none. An
	// error that is a *SignatureError is a finding, any other ends the run.
	Verify func(ctx context.Context, src *source.Source) error
}

// SignatureError tells that an image is not signed as it has to be.
type SignatureError struct{ Err error }

func (e *SignatureError) Error() string { return e.Err.Error() }

func (e *SignatureError) Unwrap() error { return e.Err }

// Report is the result for one reference.
type Report struct {
	// Reference is the reference as it was given, Digest that of the index or the
	// single image.
	Reference, Digest string
	// Images are the platforms that were checked, at least one.
	Images []Platform
	// Stats and Read count what was read.
	Stats source.Stats
	Read  rootfs.Stats
}

// Platform is the result for the image of one platform.
type Platform struct {
	// Name is the platform, such as linux/amd64, Digest that of its manifest.
	Name, Digest string
	// Report has the findings; nil when the module in the image cannot be read.
	Report *lint.Report
	// Err says why not.
	Err error
}

// Run opens a reference and checks it. The error is one of the packages source
// and rootfs: errors.Is tells a wrong reference from an image that cannot be read.
func Run(ctx context.Context, ref string, o Options) (_ *Report, err error) {
	src, err := source.Open(ctx, ref, o.Source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	o.Read.Keep, o.Read.Spool = keep, spool
	reader := rootfs.NewReader(o.Read)
	defer func() { err = errors.Join(err, reader.Close()) }()

	r := &Report{Reference: src.Reference.String(), Digest: src.Digest.String()}
	images, missing, err := pick(ctx, src, o)
	if err != nil {
		return nil, err
	}
	var shared []lint.Finding
	if o.Verify != nil {
		if shared, err = verify(ctx, src, o); err != nil {
			return nil, err
		}
	}
	if missing != nil {
		shared = append(shared, lint.Finding{
			ID: platformID, Severity: lint.SeverityError, File: lint.WholeModule,
			Message: missing.Error(),
		})
		r.Images = []Platform{{
			Name: missing.Want.String(), Digest: r.Digest,
			Report: o.report(r.Reference, module.Terraform, shared),
		}}
		return r, nil
	}
	if len(images) > 1 {
		shared = append(shared, inconsistent(images)...)
	}
	for i, img := range images {
		p, err := check(ctx, reader, img, o)
		if err != nil {
			return nil, fmt.Errorf("checking %s for %s: %w", r.Reference, platformOf(img), err)
		}
		if i == 0 && p.Report != nil { // what is about all of them is reported once
			p.Report.Findings = lint.Settle(append(p.Report.Findings, shared...), o.Allow)
		}
		r.Images = append(r.Images, p)
	}
	r.Stats, r.Read = src.Stats(), reader.Stats()
	return r, nil
}

// pick loads the images to check. A platform that the reference does not have
// is returned as such: it is a finding.
func pick(ctx context.Context, src *source.Source, o Options) ([]*source.Image, *source.PlatformError, error) {
	if o.All {
		var out []*source.Image
		for _, p := range src.Platforms() {
			img, err := src.Load(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			out = append(out, img)
		}
		if len(out) == 0 {
			return nil, nil, fmt.Errorf("reading %s: the index has no image for any platform", src.Reference)
		}
		return out, nil, nil
	}
	var want *v1.Platform
	if o.Platform != nil {
		want = &v1.Platform{OS: o.Platform.OS, Architecture: o.Platform.Arch}
	}
	img, err := src.Image(ctx, want)
	if missing, ok := errors.AsType[*source.PlatformError](err); ok {
		return nil, missing, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return []*source.Image{img}, nil, nil
}

func verify(ctx context.Context, src *source.Source, o Options) ([]lint.Finding, error) {
	err := o.Verify(ctx, src)
	var unsigned *SignatureError
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &unsigned):
		return []lint.Finding{{
			ID: signatureID, Severity: lint.SeverityError, File: lint.WholeModule,
			Message: unsigned.Error(), Remedy: "sign the digest, or give the key that signed it",
		}}, nil
	}
	return nil, err
}

func (o Options) report(ref string, rt module.Runtime, findings []lint.Finding) *lint.Report {
	return &lint.Report{
		Dir: ref, Role: o.Role, Contract: o.Contract.Version(), Runtime: rt, Findings: lint.Settle(findings, o.Allow),
	}
}

// check looks at the image of one platform.
func check(ctx context.Context, reader *rootfs.Reader, img *source.Image, o Options) (Platform, error) {
	result := Platform{Name: platformOf(img).String(), Digest: img.Digest.String()}
	files, err := reader.Open(ctx, img)
	if err != nil {
		return result, err
	}
	defer files.Close()
	c := &checker{
		ctx: ctx, fs: files, img: img, platform: platformOf(img), labels: img.Labels(), role: o.Role, contract: o.Contract,
	}
	c.user = c.findUser(img.Config.Config.User)
	if err := c.loadRuntime(); err != nil {
		return result, err
	}
	rt := module.Terraform
	if c.hasModuleFile() {
		found, err := c.checkModule(o)
		if err != nil {
			// The image can still be judged, but a module that cannot be read is no
			// clean result.
			result.Err = err
			return result, nil
		}
		c.findings, rt = found, c.tree.Primary.Runtime
	}
	for i := range all {
		if r := &all[i]; r.check != nil && r.For(o.Role) {
			c.rule = r
			r.check(c)
		}
	}
	if c.err != nil {
		return result, c.err
	}
	result.Report = o.report(img.Reference, rt, c.findings)
	return result, nil
}

// checkModule makes the checks of package rules on the module in the image.
func (c *checker) checkModule(o Options) ([]lint.Finding, error) {
	tree, err := module.LoadFS(moduleFS{c}, contractimage.ModulePath, module.Options{})
	if err != nil {
		return nil, err
	}
	c.tree = tree
	report, err := lint.Check(tree, lint.Options{Role: o.Role, Contract: o.Contract, Rules: o.Rules})
	if err != nil {
		return nil, err
	}
	findings := slices.Clone(report.Findings)
	for i := range findings {
		if !findings[i].WholeModule() {
			findings[i].File = inModule(findings[i].File)
		}
	}
	return findings, nil
}
