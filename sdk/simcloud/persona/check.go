package persona

import (
	"fmt"
	"regexp"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// named refuses a name that the cloud would refuse. The text is the cloud's, in
// which %s stands for the name.
func named(path string, form *regexp.Regexp, text string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		if name := c.Text(path); !form.MatchString(name) {
			return fmt.Errorf(text, name)
		}
		return nil
	}
}

// alone refuses an object whose attributes are those of another one of its type. The
// text is the cloud's, in which %s stands for the first of them.
func alone(text string, paths ...string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		own := c.Text("id")
		for _, o := range c.Objects(c.Type()) {
			if c.Op() != simcloud.OpCreate && o.ID == own {
				continue
			}
			same := true
			for _, p := range paths {
				same = same && o.Text(p) == c.Text(p)
			}
			if same && c.Text(paths[0]) != "" {
				return fmt.Errorf(text, c.Text(paths[0]))
			}
		}
		return nil
	}
}

// longestTag is how long the value of a tag may be in every cloud that limits it.
const longestTag = 256

// atMost refuses a map with more entries, or with longer keys or values, than the cloud allows.
func atMost(path string, entries, key int, text string) simcloud.Hook {
	return func(c *simcloud.Context) error {
		m, _ := c.Attr(path).(map[string]any)
		if len(m) > entries {
			return fmt.Errorf("%s: %d entries, at most %d are allowed", text, len(m), entries)
		}
		for k, x := range m {
			v, _ := x.(string)
			switch {
			case len(k) > key:
				return fmt.Errorf("%s: the key %q is longer than %d characters", text, k, key)
			case len(v) > longestTag:
				return fmt.Errorf("%s: the value of %q is longer than %d characters", text, k, longestTag)
			}
		}
		return nil
	}
}
