package move

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Options say what to check.
type Options struct {
	// Source is the management cluster that the namespace is in.
	Source Access
	// Target is the one that it is to move to; nil looks at the source alone.
	Target *Access
	// Namespace to move.
	Namespace string
	// Cluster limits the findings to one Cluster of the namespace. It limits no move: clusterctl moves all of them.
	Cluster string
	// Progress is told what was read, a line at a time; nil is nobody.
	Progress func(line string)
}

// progress says that something was read.
func (o Options) progress(start time.Time, format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...) + fmt.Sprintf(" in %v", time.Since(start).Round(10*time.Millisecond)))
	}
}

// NoClusterError is that there is no Cluster of the name in Options.
type NoClusterError struct {
	Namespace, Name string
	// Known are the names of those that there are.
	Known []string
}

// Error names the Cluster and those that there are.
func (e *NoClusterError) Error() string {
	known := "there is none at all"
	if len(e.Known) > 0 {
		known = "there are " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("looking for Cluster %s in namespace %s: %s", e.Name, e.Namespace, known)
}

// checker is one check.
type checker struct {
	collector
	o Options
	s *source
	t *target
}

// Check looks at a namespace, and reads only. An error says that something could not be read that has to be.
func Check(ctx context.Context, o Options) (*Report, error) {
	c := &checker{o: o}
	start := time.Now()
	var err error
	if c.s, err = c.readSource(ctx, o.Namespace); err != nil {
		return nil, fmt.Errorf("reading the source: %w", err)
	}
	o.progress(start, "source: read %d kinds and %d objects", len(c.s.kinds), len(c.s.byName)+len(c.s.strangers))
	if o.Cluster != "" && c.cluster(o.Cluster) == nil {
		e := &NoClusterError{Namespace: o.Namespace, Name: o.Cluster}
		for _, n := range c.clusters() {
			e.Known = append(e.Known, n.Name)
		}
		return nil, e
	}
	if o.Target != nil {
		start = time.Now()
		if c.t, err = readTarget(ctx, o); err != nil {
			return nil, fmt.Errorf("reading the target: %w", err)
		}
		o.progress(start, "target: read %d kinds and %d providers", len(c.t.kinds), len(c.t.providers))
	}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	c.limit()
	r := &Report{Namespace: o.Namespace, Cluster: o.Cluster, TargetChecked: o.Target != nil, Findings: c.sorted(), Moves: []Moved{}}
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	for _, n := range c.s.all() {
		if n.moves {
			r.Moves = append(r.Moves, Moved{Object: n.Object, Deleted: n.deleted()})
		}
	}
	r.finish()
	return r, nil
}

// check runs all checks. What makes the others pointless comes first, and alone.
func (c *checker) check(ctx context.Context) error {
	if !c.initialized() {
		return nil
	}
	if c.t != nil {
		if same, err := c.sameCluster(ctx); same || err != nil {
			return err
		}
	}
	c.checkState()
	c.checkOwners()
	if err := c.checkNamespaces(ctx); err != nil {
		return err
	}
	if err := c.checkLeftBehind(ctx); err != nil {
		return err
	}
	return c.checkTarget(ctx)
}

// clusters are the Clusters of the namespace.
func (c *checker) clusters() []*node {
	return slices.DeleteFunc(c.s.of("Cluster"), func(n *node) bool { return n.virtual() || n.Namespace != c.o.Namespace })
}

func (c *checker) cluster(name string) *node {
	return c.s.find(groupCore, "Cluster", c.o.Namespace, name)
}

// limit leaves out what is only about other Clusters than the one asked for. That they have errors is an error still,
// because clusterctl moves all or none.
func (c *checker) limit() {
	if c.o.Cluster == "" {
		return
	}
	errors := map[*node]int{}
	c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool {
		others := c.others(f)
		if f.Severity == SeverityError {
			for _, n := range others {
				errors[n]++
			}
		}
		return len(others) > 0
	})
	for n, count := range errors {
		c.add(Finding{
			ID: idOtherClusters, Object: n.Object, What: fmt.Sprintf("%d errors are about it", count),
			Fix: c.o.again("--cluster", n.Name),
		})
	}
}

// others are the Clusters that a finding is about, if it is not about the one asked for, nor about anything shared.
func (c *checker) others(f Finding) []*node {
	var others []*node
	for _, n := range f.about {
		clusters := 0
		for tenant := range n.tenants {
			if !tenant.is(groupCore, "Cluster") {
				continue
			}
			if tenant.Name == c.o.Cluster {
				return nil
			}
			clusters++
			if !slices.Contains(others, tenant) {
				others = append(others, tenant)
			}
		}
		if clusters == 0 {
			return nil
		}
	}
	return others
}

func forbidden(err error) bool { return apierrors.IsForbidden(err) }

// field reads a text of an object, "" if it has none.
func field(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// truth reads a boolean of an object, false if it has none.
func truth(o *unstructured.Unstructured, path ...string) bool {
	b, _, _ := unstructured.NestedBool(o.Object, path...)
	return b
}

// condition returns the status and message of a condition of an object.
func condition(o *unstructured.Unstructured, name string) (status, message string) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && m["type"] == name {
			status, _ = m["status"].(string)
			message, _ = m["message"].(string)
			return status, message
		}
	}
	return "", ""
}

func compareText(a, b string) int { return strings.Compare(a, b) }
