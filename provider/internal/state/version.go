package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
)

// mark says which part of which version a Secret holds; see the package's documentation.
type mark struct {
	version string // SHA-256 of the whole compressed state
	index   int
	count   int
	sum     string // of this part
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (m mark) String() string {
	return fmt.Sprintf("%s/%d/%d/%s", m.version, m.index, m.count, m.sum)
}

// markOf reads the mark of a Secret; nil if it has none that fits its data.
func markOf(s *corev1.Secret) *mark {
	f := strings.Split(s.Annotations[annotationPart], "/")
	if len(f) != 4 || len(f[0]) != 2*sha256.Size {
		return nil
	}
	index, err1 := strconv.Atoi(f[1])
	count, err2 := strconv.Atoi(f[2])
	if err1 != nil || err2 != nil || index < 0 || index >= count || count > MaxParts {
		return nil
	}
	if digest(s.Data[secretKey]) != f[3] {
		return nil
	}
	return &mark{version: f[0], index: index, count: count, sum: f[3]}
}

// objects are the Secrets of a state, as one list returned them.
type objects struct {
	parts  []*corev1.Secret // in their places, by index; an entry is nil where there is a gap
	staged []*corev1.Secret // parts of a version that are not in their places yet
	odd    []*corev1.Secret // claims to be part of the state, but has no name of a part
}

// sortOut takes a list apart.
func sortOut(k Key, list []corev1.Secret) objects {
	var o objects
	at := map[int]*corev1.Secret{}
	last := -1
	for i := range list {
		s := &list[i]
		if s.Labels[labelState] == stateStaged {
			o.staged = append(o.staged, s)
			continue
		}
		index, ok := k.part(s.Name)
		if !ok || index >= 4*MaxParts {
			o.odd = append(o.odd, s)
			continue
		}
		at[index] = s
		last = max(last, index)
	}
	for i := range last + 1 {
		o.parts = append(o.parts, at[i])
	}
	return o
}

// count is the number of Secrets that stock clients take for the state.
func (o objects) count() int {
	n := len(o.odd)
	for _, s := range o.parts {
		if s != nil {
			n++
		}
	}
	return n
}

// current is the version of a state that its objects hold.
type current struct {
	objects
	state *State
	raw   []byte // the state as a file
	gz    []byte // the same, compressed, as it is stored
	// waiting holds the staged copies of parts that are not in their places.
	waiting map[int]*corev1.Secret
}

// assemble finds the current version. The error is ErrNotFound or an *Unreadable.
func assemble(k Key, o objects) (*current, error) {
	if o.count() == 0 {
		return nil, ErrNotFound
	}
	if o.count() > MaxParts {
		return nil, corrupt("the state has %d Secrets, and at most %d are read", o.count(), MaxParts)
	}
	if len(o.odd) > 0 {
		return nil, inconsistent("Secret %s has the labels of this state, but not a name of one of its parts:"+
			" take its label %s away, or delete it if it is not needed", o.odd[0].Name, labelState)
	}
	// What lies beyond the version that the base Secret names is a leftover, gaps in it too: a writer that lost its lock may
	// have left it.
	c := o.marked()
	if c == nil {
		if err := o.whole(k); err != nil {
			return nil, err
		}
		var err error
		if c, err = o.plain(); err != nil {
			return nil, err
		}
	}
	return c, c.parse()
}

// whole checks that no part is missing, which stock clients need (B-405).
func (o objects) whole(k Key) error {
	for i, s := range o.parts {
		if s == nil {
			return inconsistent("part %d of the state is missing: Secret %s does not exist but %s does; put it back from a copy,"+
				" or push a backup with runner state push --force", i, k.Secret(i), o.parts[len(o.parts)-1].Name)
		}
		if _, ok := s.Data[secretKey]; !ok {
			return inconsistent("Secret %s has no key %q: a client stopped between creating and filling it; if it is the only Secret"+
				" of the state and nothing was ever applied, delete it, else put it back from a copy or push a backup with runner state push --force",
				s.Name, secretKey)
		}
	}
	return nil
}

// marked returns the version that the base Secret's mark names, nil if there is none or it is not complete.
func (o objects) marked() *current {
	if len(o.parts) == 0 || o.parts[0] == nil {
		return nil
	}
	base := markOf(o.parts[0])
	if base == nil || base.index != 0 {
		return nil
	}
	c := &current{objects: o, waiting: map[int]*corev1.Secret{}}
	c.gz = slices.Clone(o.parts[0].Data[secretKey])
	for i := 1; i < base.count; i++ {
		if i < len(o.parts) && o.parts[i] != nil {
			if m := markOf(o.parts[i]); m != nil && m.version == base.version && m.index == i {
				c.gz = append(c.gz, o.parts[i].Data[secretKey]...)
				continue
			}
		}
		s := o.stagedPart(base.version, i)
		if s == nil {
			return nil
		}
		c.waiting[i] = s
		c.gz = append(c.gz, s.Data[secretKey]...)
	}
	if digest(c.gz) != base.version {
		return nil
	}
	c.state = &State{Parts: base.count}
	return c
}

func (o objects) stagedPart(version string, index int) *corev1.Secret {
	for _, s := range o.staged {
		if m := markOf(s); m != nil && m.version == version && m.index == index {
			return s
		}
	}
	return nil
}

// plain returns the version that stock clients read.
func (o objects) plain() (*current, error) {
	c := &current{objects: o}
	versions := map[string]bool{}
	var ends []int
	for _, s := range o.parts {
		if m := markOf(s); m != nil {
			versions[m.version] = true
		}
		c.gz = append(c.gz, s.Data[secretKey]...)
		ends = append(ends, len(c.gz))
	}
	_, used, err := decompress(c.gz)
	switch {
	case len(versions) > 1 && (err != nil || used > ends[0]):
		return nil, inconsistent("the parts of the state belong to different versions, and the staged copies that would complete one" +
			" are gone: put back the Secrets from one copy, or push a backup with runner state push --force")
	case errors.Is(err, errLong):
		return nil, corrupt("the state has more than %d bytes", MaxBytes)
	case err != nil:
		return nil, corrupt("the Secrets %s… do not hold a whole gzip stream", o.parts[0].Name)
	}
	c.gz = c.gz[:used]
	parts, _ := slices.BinarySearch(ends, used)
	c.state = &State{Parts: parts + 1}
	return c, nil
}

// parse fills in what the state says.
func (c *current) parse() error {
	raw, _, err := decompress(c.gz)
	if errors.Is(err, errLong) {
		return corrupt("the state has more than %d bytes", MaxBytes)
	}
	if err != nil {
		return corrupt("the Secrets %s… do not hold a whole gzip stream", c.parts[0].Name)
	}
	s, err := Parse(raw)
	if err != nil {
		return err
	}
	s.Parts, s.Bytes, s.Digest = c.state.Parts, len(c.gz), digest(c.gz)
	s.InputsHash = c.parts[0].Annotations[infrav1.AnnotationInputsHash]
	s.Image = c.parts[0].Annotations[infrav1.AnnotationImage]
	s.Interrupted = len(c.waiting) > 0 || len(c.staged) > 0 || len(c.parts) > s.Parts
	c.state, c.raw = s, raw
	return nil
}

// split cuts a compressed state into parts; the first is never missing.
func (s *Store) split(gz []byte) [][]byte {
	return slices.Collect(slices.Chunk(gz, cmp.Or(s.partSize, PartSize)))
}
