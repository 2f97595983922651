package simcloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// saved is a cloud in a file.
type saved struct {
	// Form is the version of the file's form.
	Form    int            `json:"captf_simcloud"`
	Objects []*Object      `json:"objects"`
	Asked   map[string]int `json:"asked,omitempty"`
	// Claims are names that are taken, and the key of who has them.
	Claims map[string]string `json:"claims,omitempty"`
	Serial int               `json:"serial"`
}

const (
	savedForm  = 1
	maxSaved   = 512 << 20
	savedPerms = 0o600 // attributes may hold secrets
)

// Save writes what exists into a file, which appears whole or not at all.
func (c *Cloud) Save(file string) error {
	c.mu.Lock()
	s := saved{Form: savedForm, Objects: []*Object{}, Asked: c.asked, Claims: c.claims, Serial: c.serial}
	s.Objects = append(s.Objects, c.list("")...)
	raw, err := json.MarshalIndent(s, "", " ")
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("saving the simulated cloud: %w", err)
	}
	if err := writeWhole(file, append(raw, '\n')); err != nil {
		return fmt.Errorf("saving the simulated cloud: %w", err)
	}
	return nil
}

// writeWhole writes a file beside its place first.
func writeWhole(file string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(content)
	if err = errors.Join(err, tmp.Chmod(savedPerms), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// LoadCloud reads a cloud that [Cloud.Save] wrote. Without the file it is empty.
func LoadCloud(file string, l Limits) (*Cloud, error) {
	c := NewCloud(l)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a simulated cloud: %w", err)
	}
	defer f.Close()
	if err := c.load(&limited{r: f, left: maxSaved, what: fmt.Sprintf("it is larger than %d MiB", maxSaved>>20)}); err != nil {
		return nil, fmt.Errorf("reading simulated cloud %s: %w", file, err)
	}
	return c, nil
}

func (c *Cloud) load(r io.Reader) error {
	var s saved
	d := json.NewDecoder(r)
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return err
	}
	if s.Form != savedForm {
		return fmt.Errorf("it is no simulated cloud of this version: captf_simcloud is %d and not %d", s.Form, savedForm)
	}
	for i, o := range s.Objects {
		if o == nil || o.Key == "" || o.Type == "" {
			return fmt.Errorf("object %d has no key or no type", i+1)
		}
		x, err := thaw(o.Attributes)
		if err != nil {
			return fmt.Errorf("object %d, %s %s: %w", i+1, o.Type, o.ID, err)
		}
		o.Attributes, _ = x.(map[string]any)
		serial := o.Serial
		if err := c.add(o); err != nil {
			return err
		}
		o.Serial = serial
	}
	c.serial = max(s.Serial, c.serial)
	if s.Asked != nil {
		c.asked = s.Asked
	}
	if s.Claims != nil {
		c.claims = s.Claims
	}
	return nil
}
