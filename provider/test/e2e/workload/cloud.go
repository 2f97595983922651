package workload

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
)

// Cloud follows the states of control planes.
type Cloud struct {
	server *Server
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	readers  []client.Reader
	clusters map[types.NamespacedName]*Cluster
	booted   map[place]Instance
	waiting  map[place]string

	// What was there at the last look. What a move carries from one control plane to another may be seen on neither of them
	// in one look, but not in two.
	lastClusters  map[types.NamespacedName]Endpoint
	lastInstances map[place]boot
}

// place is where an instance is: the Cluster, and its name.
type place struct {
	cluster types.NamespacedName
	host    string
}

// between is the time between two looks at the states.
const between = 250 * time.Millisecond

// Follow looks at the states in Secrets of control planes until Stop. Between two of them a cluster may be moved: what is in a
// state on either side is there. The readers should have no cache.
func Follow(ctx context.Context, server *Server, readers ...client.Reader) *Cloud {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Cloud{
		server: server, readers: readers, cancel: cancel, done: make(chan struct{}),
		clusters: map[types.NamespacedName]*Cluster{}, booted: map[place]Instance{}, waiting: map[place]string{},
	}
	go func() {
		defer close(c.done)
		for running.Err() == nil {
			c.look(running)
			select {
			case <-running.Done():
			case <-time.After(between):
			}
		}
	}()
	return c
}

// Stop stops following. What runs goes on running until the server is closed.
func (c *Cloud) Stop() {
	c.cancel()
	<-c.done
}

// Add lets the states of another control plane be followed, too.
func (c *Cloud) Add(reader client.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers = append(c.readers, reader)
}

// Remove ends that.
func (c *Cloud) Remove(reader client.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers = slices.DeleteFunc(c.readers, func(r client.Reader) bool { return r == reader })
}

// Cluster returns the workload cluster of a Cluster, or nil.
func (c *Cloud) Cluster(name types.NamespacedName) *Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clusters[name]
}

// Booted returns the instances of a Cluster that became Nodes, by name.
func (c *Cloud) Booted(name types.NamespacedName) []Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Instance
	for p, i := range c.booted {
		if p.cluster == name {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b Instance) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Waiting says of each instance, and each endpoint, of a Cluster that is not there yet what it waits for.
func (c *Cloud) Waiting(name types.NamespacedName) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for p, why := range c.waiting {
		if p.cluster == name {
			out = append(out, strings.TrimSpace(p.host+" "+why))
		}
	}
	slices.Sort(out)
	return out
}

// look makes everything as the states say. What fails is tried again with the next look.
func (c *Cloud) look(ctx context.Context) {
	clusters := map[types.NamespacedName]Endpoint{}
	instances := map[place]boot{}
	waiting := map[place]string{}
	c.mu.Lock()
	readers := slices.Clone(c.readers)
	c.mu.Unlock()
	for _, reader := range readers {
		secrets := &corev1.SecretList{}
		if err := reader.List(ctx, secrets, client.MatchingLabels{"tfstate": "true"}); err != nil {
			return // the next look may be luckier; a test that waits says what is missing
		}
		for i := range secrets.Items {
			s := &secrets.Items[i]
			found, err := read(s)
			if err != nil {
				waiting[place{cluster: types.NamespacedName{Namespace: s.Namespace}, host: s.Name}] = err.Error()
				continue
			}
			if found == nil {
				continue // nothing of ours is in it, or nothing any more
			}
			if found.endpoint != nil {
				clusters[found.cluster] = *found.endpoint
			}
			for _, b := range found.instances {
				b.reader = reader
				instances[place{found.cluster, b.Name}] = b
			}
		}
	}
	c.mu.Lock()
	booted, served := maps.Clone(c.booted), maps.Clone(c.clusters)
	c.mu.Unlock()
	for name, at := range clusters {
		if served[name] != nil {
			continue
		}
		cluster, err := c.server.Serve(ctx, name.String(), at)
		if err != nil {
			waiting[place{cluster: name}] = err.Error()
			continue
		}
		served[name] = cluster
	}
	for p, i := range booted {
		cluster := served[p.cluster]
		b, there := instances[p]
		if !there {
			b, there = c.lastInstances[p]
		}
		if there && b.Instance == i && cluster != nil {
			continue
		}
		if cluster == nil || cluster.Leave(ctx, p.host) == nil { // gone, or another one under its name
			delete(booted, p)
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(instances), comparePlaces) {
		if _, done := booted[p]; done {
			continue
		}
		if err := c.boot(ctx, served[p.cluster], instances[p]); err != nil {
			waiting[p] = err.Error()
			continue
		}
		booted[p] = instances[p].Instance
	}
	for name, cluster := range served {
		_, there := clusters[name]
		if _, lately := c.lastClusters[name]; !there && !lately {
			cluster.close()
			delete(served, name)
			maps.DeleteFunc(booted, func(p place, _ Instance) bool { return p.cluster == name })
		}
	}
	c.lastClusters, c.lastInstances = clusters, instances
	c.mu.Lock()
	defer c.mu.Unlock()
	c.booted, c.clusters, c.waiting = booted, served, waiting
}

func comparePlaces(a, b place) int {
	if c := strings.Compare(a.cluster.String(), b.cluster.String()); c != 0 {
		return c
	}
	return strings.Compare(a.host, b.host)
}

// boot boots an instance with the bootstrap data that its module received.
func (c *Cloud) boot(ctx context.Context, cluster *Cluster, b boot) error {
	if cluster == nil {
		return errors.New("waits for the endpoint of its cluster")
	}
	data, err := payload(ctx, b)
	if err != nil {
		return err
	}
	return cluster.Boot(ctx, b.Instance, data)
}

// payload finds the bootstrap data of which the module recorded the digest: among the inputs of the newest apply that
// was started, and of that which succeeded.
func payload(ctx context.Context, b boot) (*Payload, error) {
	for _, name := range []string{contract.InputsSecretName(b.role, b.object.Name), contract.AppliedSecretName(b.role, b.object.Name)} {
		secret := &corev1.Secret{}
		err := b.reader.Get(ctx, client.ObjectKey{Namespace: b.object.Namespace, Name: name}, secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the inputs of its module: %w", err)
		}
		var values struct {
			Data string `json:"bootstrap_data"`
		}
		if err := json.Unmarshal(secret.Data["terraform.tfvars.json"], &values); err != nil {
			return nil, fmt.Errorf("reading Secret %s: terraform.tfvars.json is no object with a string bootstrap_data", name)
		}
		if digest(values.Data) != b.digest {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(values.Data)
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s: bootstrap_data is not base64", name)
		}
		return ReadPayload(text)
	}
	return nil, errors.New("the bootstrap data that its module received is in no values file")
}
