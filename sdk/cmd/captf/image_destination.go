package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/captf-toolkit/captf/images/content"
	"github.com/captf-toolkit/captf/images/publish"
)

// destination is where an image is written to: a layout, an archive or a registry.
type destination struct {
	text string
	// layout or tarball is a path, and refName the name in there.
	layout, tarball, refName string
	tag                      name.Tag
}

// String returns the destination as a reference that other commands take.
func (d destination) String() string { return d.text }

// refTag is the tag in a registry, empty for other destinations.
func (d destination) refTag() string {
	if d.layout != "" || d.tarball != "" {
		return ""
	}
	return d.tag.TagStr()
}

var refNamePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// parseDestination reads oci:DIR[:NAME], tarball:FILE[:NAME] or
// registry/repository:tag.
func parseDestination(text string, insecure bool) (destination, error) {
	d := destination{text: text}
	kind, rest, _ := strings.Cut(text, ":")
	if kind != "oci" && kind != "tarball" {
		var err error
		d.tag, err = publish.ParseTag(text, insecure)
		return d, err
	}
	path := rest
	// What has a separator is part of a path that holds a colon.
	if i := strings.LastIndex(rest, ":"); i >= 0 && !strings.ContainsAny(rest[i+1:], `/\`) {
		path, d.refName = rest[:i], rest[i+1:]
		if !refNamePattern.MatchString(d.refName) {
			return d, fmt.Errorf("parsing destination %q: the name %q is no tag, which has up to 128 letters, digits, dots, dashes and underscores", text, d.refName)
		}
	}
	if path == "" {
		return d, fmt.Errorf("parsing destination %q: it names no path", text)
	}
	if kind == "oci" {
		d.layout = path
		return d, content.CheckLayout(path)
	}
	d.tarball = path
	return d, nil
}

// parseDestinations reads all of them, and further tags for the registry among them.
func parseDestinations(texts, tags []string, insecure bool) ([]destination, error) {
	if len(texts) == 0 {
		return nil, errors.New("--to is missing: it is oci:DIR, tarball:FILE or registry/repository:tag")
	}
	var out []destination
	var repo *name.Repository
	for _, text := range texts {
		d, err := parseDestination(text, insecure)
		if err != nil {
			return nil, fmt.Errorf("--to: %w", err)
		}
		if d.layout == "" && d.tarball == "" {
			r := d.tag.Context()
			repo = cmp.Or(repo, &r)
		}
		out = append(out, d)
	}
	for _, tag := range tags {
		if repo == nil {
			return nil, errors.New("--tag goes with a registry in --to, whose repository gets the tag")
		}
		t, err := name.NewTag(repo.Name() + ":" + tag)
		if err != nil || !refNamePattern.MatchString(tag) {
			return nil, fmt.Errorf("parsing --tag %q: a tag is letters, digits, dots, dashes and underscores", tag)
		}
		out = append(out, destination{text: t.Name(), tag: repo.Tag(tag)})
	}
	return out, nil
}

// outside makes sure that no destination lies in the module directory, where the
// next image would hold it.
func outside(dir string, to []destination) error {
	module, err := filepath.EvalSymlinks(dir)
	if err == nil {
		module, err = filepath.Abs(module)
	}
	if err != nil {
		return nil //nolint:nilerr // reading the module says what is wrong with it
	}
	for _, d := range to {
		path := cmp.Or(d.layout, d.tarball)
		if path == "" {
			continue
		}
		at, err := realPath(path)
		if err != nil {
			return fmt.Errorf("parsing destination %q: %w", d.text, err)
		}
		if rel, err := filepath.Rel(module, at); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("parsing destination %q: it is in the module directory %s, so the next image would hold it: write it elsewhere", d.text, dir)
		}
	}
	return nil
}

// realPath is the path without symbolic links, of something that may not exist.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		found, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(found, rest), nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return "", err
		}
		path, rest = parent, filepath.Join(filepath.Base(path), rest)
	}
}

// writeImage writes a set to every destination, local ones first.
func writeImage(ctx context.Context, set *content.Set, to []destination, modified time.Time, o publish.Options, tell func(string, ...any)) error {
	var tags []name.Tag
	for _, d := range to {
		start := time.Now()
		var err error
		switch {
		case d.layout != "":
			err = set.WriteLayout(ctx, d.layout, d.refName)
		case d.tarball != "":
			err = set.WriteTarball(ctx, d.tarball, d.refName, modified)
		default:
			tags = append(tags, d.tag)
			continue
		}
		if err != nil {
			return err
		}
		tell("wrote %s in %s", d, time.Since(start).Round(10*time.Millisecond))
	}
	if len(tags) == 0 {
		return nil
	}
	_, err := publish.Publish(ctx, set, tags, o)
	return err
}

// publishOptions are the flags of commands that write to registries.
func publishOptions(cmd *cobra.Command, insecure bool, jobs int) publish.Options {
	o := openOptions(cmd, insecure)
	return publish.Options{Insecure: insecure, UserAgent: o.UserAgent, Jobs: jobs, Progress: o.Progress}
}

// jobsFlag defines --jobs.
func jobsFlag(cmd *cobra.Command, jobs *int) {
	cmd.Flags().IntVar(jobs, "jobs", publish.DefaultJobs, "blobs that are sent at a time")
}

func checkJobs(jobs int) error {
	if jobs < 1 || jobs > 64 {
		return fmt.Errorf("parsing --jobs %d: it is a number from 1 to 64", jobs)
	}
	return nil
}

// keyValues reads KEY=VALUE flags.
func keyValues(flag string, texts []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("parsing --%s %q: it must be KEY=VALUE", flag, text)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("parsing --%s: %s is given twice", flag, key)
		}
		out[key] = value
	}
	return out, nil
}
