package image

import (
	"fmt"
	"slices"
	"strings"

	contractimage "github.com/captf-toolkit/captf/contract/image"
	"github.com/captf-toolkit/captf/images/source"
	"github.com/captf-toolkit/captf/lint"
)

// The identifiers of checks that are made of a reference as a whole.
const (
	platformID   = "image/platform"
	consistentID = "image/labels-consistent"
)

var platformRules = []rule{
	{
		Rule: lint.Rule{
			ID: platformID, Severities: isError,
			Summary: "The index has no image for the platform, the single image is for another one than `--platform`, or an image's configuration says another platform than the index.",
			Why:     "A node of that platform cannot run the image.",
			Fix:     "Build the image for the platform, or give the right `--platform`.",
			Bad:     "tfcapi-lint image --role machine --platform linux/arm64 REF # an image for linux/amd64 only",
			Good:    "captf image build --platform linux/amd64,linux/arm64 ...",
			Rules:   []string{"lint.md 5", "image.md 6"},
		},
		check: func(c *checker) {
			listed := c.img.Listed.Platform
			if listed.OS != "" && (listed.OS != c.img.Platform.OS || listed.Architecture != c.img.Platform.Architecture) {
				c.errorf("", "build the index anew", "the index lists the image for %s/%s, and its configuration says %s", listed.OS, listed.Architecture, c.platform)
			}
		},
	},
	{
		Rule: lint.Rule{
			ID: consistentID, Severities: isWarning,
			Summary: "A label of CAPTF differs between the platforms of the index.",
			Why:     "A controller reads the labels of the platform that it runs on itself, so the same image means different things.",
			Fix:     "Set the same labels on all platforms: take the architecture in `io.captf.node-info` from a fixed value, never from the platform that is built.",
			Bad:     "LABEL io.captf.node-info=\"{\\\"architecture\\\":\\\"${TARGETARCH}\\\"}\"",
			Good:    "LABEL io.captf.node-info='{\"architecture\":\"amd64\"}'",
			Rules:   []string{"lint.md 8 G14", "image.md 4"},
		},
	},
}

// inconsistent reports the labels that differ between images of one index.
func inconsistent(images []*source.Image) []lint.Finding {
	var out []lint.Finding
	for _, l := range contractimage.Labels() {
		values := map[string][]string{}
		for _, img := range images {
			value, ok := img.Labels()[string(l.Key)]
			key := "not set"
			if ok {
				key = fmt.Sprintf("%q", short(value))
				if len(value) > maxShown {
					key += fmt.Sprintf(" (%d bytes)", len(value))
				}
			}
			values[key+"\x00"+value] = append(values[key+"\x00"+value], platformOf(img).String())
		}
		if len(values) < 2 {
			continue
		}
		var parts []string
		for key, platforms := range values {
			text, _, _ := strings.Cut(key, "\x00")
			parts = append(parts, strings.Join(platforms, ", ")+": "+text)
		}
		slices.Sort(parts)
		out = append(out, lint.Finding{
			ID: consistentID, Severity: lint.SeverityWarning, File: lint.WholeModule,
			Message: fmt.Sprintf("the label %s differs between platforms: %s", l.Key, strings.Join(parts, "; ")),
			Remedy:  "set the same labels on all platforms",
		})
	}
	return out
}

// maxShown is how much of a label's value is shown, in bytes.
const maxShown = 60

func short(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

func platformOf(img *source.Image) contractimage.Platform {
	return contractimage.Platform{OS: img.Platform.OS, Arch: img.Platform.Architecture}
}
