package template

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/contract"
	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/conditions"
	"github.com/captf-toolkit/captf/provider/internal/inspect"
)

// Intervals (provider-ops.md 6.5).
const (
	// firstRetry and lastRetry are when an image is read again that could not be read.
	firstRetry = 30 * time.Second
	lastRetry  = 10 * time.Minute
	// sourceRetry is when a source of variables is looked for again.
	sourceRetry = 30 * time.Second
)

// Reconciler is what the controllers of both kinds of templates work with.
type Reconciler struct {
	// Client writes, and reads templates from the manager's cache.
	Client client.Client
	// Live reads sources of variables from the API server.
	Live client.Reader
	// Sources reads the metadata of ConfigMaps and Secrets labelled as sources of variables from a cache; nil is Live.
	Sources client.Reader
	// Inspector reads images.
	Inspector *inspect.Inspector
	// Contract is the version of the module contract.
	Contract contract.Definition
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock

	mu   sync.Mutex
	seen map[types.UID]*memory
}

// memory is what is known of a template since the manager started. It is used by one pass at a time, as all passes of an
// object are.
type memory struct {
	// image is the reference that was read last; failures counts reads that failed in a row, the last with err.
	image    string
	failures int
	retryAt  time.Time
	err      *inspect.Error
	// sources identifies what the variables were checked with.
	sources string
}

func (r *Reconciler) clock() clock.PassiveClock {
	if r.Clock == nil {
		return clock.RealClock{}
	}
	return r.Clock
}

func (r *Reconciler) remember(uid types.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.UID]*memory{}
	}
	if r.seen[uid] == nil {
		r.seen[uid] = &memory{}
	}
	return r.seen[uid]
}

// object is a template.
type object interface {
	conditions.Object
	client.Object
}

// pass is one pass over a template.
type pass struct {
	*Reconciler
	template  object
	workspace *infrav1.WorkspaceSpec
	role      contract.Role
	memory    *memory
	requeue   time.Duration
	// opened tells that the image was asked for; it is image, or the problem is why not.
	opened  bool
	image   *inspect.Image
	problem *inspect.Error
	// first tells that reading the image failed for the first time.
	first bool
}

// later asks for another pass, at the latest then.
func (p *pass) later(after time.Duration) {
	if p.requeue == 0 || after < p.requeue {
		p.requeue = after
	}
}

// open reads the image, unless a read has failed and is not yet to be tried again.
func (p *pass) open(ctx context.Context) (*inspect.Image, *inspect.Error) {
	if p.opened {
		return p.image, p.problem
	}
	p.opened = true
	ref, now := p.workspace.Source.Image, p.clock().Now()
	if p.memory.image != ref {
		p.memory.image, p.memory.failures, p.memory.err = ref, 0, nil
	}
	if err := p.memory.err; err != nil && (err.Permanent() || now.Before(p.memory.retryAt)) {
		if !err.Permanent() {
			p.later(p.memory.retryAt.Sub(now))
		}
		p.problem = err
		return nil, err
	}
	var secrets []corev1.LocalObjectReference
	if p.workspace.Jobs != nil {
		secrets = p.workspace.Jobs.ImagePullSecrets
	}
	found, err := p.Inspector.Inspect(ctx, inspect.Request{Namespace: p.template.GetNamespace(), PullSecrets: secrets, Image: ref, Retry: true})
	if err == nil {
		p.memory.failures, p.memory.err, p.image = 0, nil, found
		return found, nil
	}
	if p.problem, _ = errors.AsType[*inspect.Error](err); p.problem == nil {
		p.problem = &inspect.Error{Class: inspect.ClassUnavailable, Image: ref}
	}
	p.first = p.memory.failures == 0
	p.memory.failures++
	p.memory.err = p.problem
	if !p.problem.Permanent() {
		delay := min(firstRetry<<min(p.memory.failures-1, 10), lastRetry)
		p.memory.retryAt = now.Add(delay)
		p.later(delay)
	}
	return nil, p.problem
}

// tell emits events on the template.
func (p *pass) tell(list ...conditions.Event) {
	for _, e := range list {
		p.Recorder.Eventf(p.template, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}
