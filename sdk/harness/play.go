package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness/engine"
)

// Config says what to play.
type Config struct {
	// Modules runs the modules.
	Modules Modules
	// Definition is the contract version.
	Definition contract.Definition
	// ControlPlane is what the control-plane provider does.
	ControlPlane *ControlPlane
	// Scenario is the story.
	Scenario Scenario
	// Seed decides everything that is random: the same seed gives the same story.
	Seed uint64
	// UserEndpoint is an endpoint that the user gives the Cluster; nil leaves it to the module.
	UserEndpoint *contract.Endpoint
	// Registration is the method by which joining nodes find a server, "" the
	// control plane's default; RegistrationAddress is the host of a method that
	// lets the user give one. What a scenario says of them goes first.
	Registration, RegistrationAddress string
	// Allow are ids of requirements whose failure is only noted.
	Allow []string
	// Keep leaves what exists at the end as it is, instead of destroying it.
	Keep bool
	// KeepOnInterrupt leaves what exists as it is when the context ends.
	KeepOnInterrupt bool
	// Force, when closed, stops everything at once and keeps what exists.
	Force <-chan struct{}
	// Runtime is the name and version of the runtime, for the report.
	Runtime string
	// Story receives each step as it happens; nil drops them.
	Story func(StoryStep)
	// Watch sees the world whenever nothing changes any more at a point in time;
	// it must change nothing. Nil does not look.
	Watch func(*World)
	// probed are the roles whose modules are probed, nil for all that the story meets.
	probed []contract.Role
}

// controller is one reconcile function; it reports that it changed something.
type controller struct {
	name string
	run  func(*play) bool
}

// controllers is the order of one pass. The order is that in which the
// controllers see a change; none depends on it.
var controllers = []controller{
	{"faults", (*play).tickFaults},
	{"terraformcluster", (*play).reconcileInfraCluster},
	{"cluster", (*play).reconcileCluster},
	{"machinehealthcheck", (*play).reconcileHealthCheck},
	{"control plane", (*play).reconcileControlPlane},
	{"machineset", (*play).reconcileWorkers},
	{"machinepool", (*play).reconcilePool},
	{"machine", (*play).reconcileMachines},
	{"terraformmachine", (*play).reconcileInfraMachines},
	{"terraformmachinepool", (*play).reconcileInfraPool},
}

// play is one run of a scenario.
type play struct {
	cfg Config
	// discreet is the contract version of cfg; it knows what may not be shown.
	discreet *discreet
	cp       *ControlPlane
	ctx      context.Context //nolint:containedctx // the context of the whole run, handed to module runs that events start
	w        *World
	eng      engine.Engine
	rng      *rand.Rand
	rec      *recorder

	blocks  map[any]block
	retryAt map[gateKey]time.Duration
	booted  map[string]bool
	// selected is the membership that the cluster's balancer shows; nil when it shows none.
	selected *Membership
	// portsJudged tells that ports were judged: once is enough.
	portsJudged bool
	// unexported tells that machines join no backend for want of an export (CP-070).
	unexported bool
	// balanceAt is when the balancer is looked at next.
	balanceAt time.Duration
	rotating  bool
	ownerSet  bool
	poolMade  bool
	hasPool   bool
	// endpointSource and infraEndpoint are the annotation and the field of the
	// TerraformCluster (contract.md 9.3).
	endpointSource contract.EndpointSource
	// endpointGiven tells that a step gave the Cluster its endpoint (K12): no balancer of the
	// module is behind it.
	endpointGiven bool
	infraEndpoint *contract.Endpoint
	template      string
	// race is who writes first at initialisation; raceRun tells that it was run.
	race    Race
	raceRun bool

	drills []*drill
	// tries counts the runs that were tried to find the cause of a failure.
	tries int
	// probing, probingMachines and probingPool tell that the drills of a role were started.
	probing, probingMachines, probingPool bool
	// first are the outputs of the cluster's first apply.
	first *contract.ClusterOutputs
	// quiet are the objects whose plan was empty when a step was done.
	quiet map[*Infra]bool
	// clusterNoise tells that the cluster's plan was not empty when a step was done.
	clusterNoise bool
	// machineNoise tells that a machine's plan changed nothing but outputs.
	machineNoise bool
	// hostnameNoted tells that one Hostname that is none was noted; one is enough.
	hostnameNoted bool
	// declined tells that the story ended because a module refuses what it may.
	declined bool
	// serverBag are the hosts that no node was sent to in this round.
	serverBag []string
	// deleted counts the machines that were destroyed.
	deleted int
	// failedRun says which module run ended the story; "" when none did.
	failedRun string

	steps []StoryStep
	// waits are those at gates, in the order of their beginning; waiting are the open ones.
	waits        []*wait
	waiting      map[any]*wait
	made         inventory
	lastProgress time.Duration
	progress     string
	stalled      *Stall
	stopped      bool // the story ends here: a module failed or the run stalled
	ended        bool // the story ends here as the scenario expects
	// step is the step that is played.
	step Step
	// patient is until when nothing has to move, because something is to come.
	patient time.Duration
	// troubles are the faults of the story; moot says why one of them changes nothing, "" when all do.
	troubles []*trouble
	moot     string
	// counted are the machines that were created: control-plane machines under true, workers under false.
	counted map[bool]int
	// initializedAt is when the control plane was initialised.
	initializedAt time.Duration
	// checkAt is when the health check looks next; suspended tells that it looks at nothing.
	checkAt   time.Duration
	suspended bool
	// writes counts the applies and destroys since the objects were moved.
	writes int
	err    error
	runs   runClock
}

type gateKey struct {
	gate    string
	subject any
}

// block is the gate that a subject waits at.
type block struct {
	gate Gate
	on   any
}

// Play plays the scenario and returns what it found. The error is that of the
// context, or of a runtime that could not run; the result is complete as far as
// the run came, and never nil.
func Play(ctx context.Context, cfg Config) (*Result, error) {
	start := time.Now()
	p := newPlay(ctx, cfg)
	p.playSteps()
	p.eng.Drain()
	p.finishProbes()
	p.judgeNoise()
	left := p.cleanUp()
	cloud := p.leftBehind(left)
	result := p.result(left)
	result.LeftInCloud, result.Faults = cloud, p.faultRecords()
	result.Timing.Total = time.Since(start).Seconds()
	if p.err != nil {
		result.Verdict, result.Error = VerdictError, p.err.Error()
	}
	p.discreet.cleanResult(result)
	return result, p.err
}

func newPlay(ctx context.Context, cfg Config) *play {
	quiet := &discreet{Definition: cfg.Definition, modules: cfg.Modules}
	quiet.guard()
	cfg.Definition = quiet
	p := &play{
		discreet: quiet,
		cfg:      cfg, cp: cfg.ControlPlane, ctx: ctx,
		rng:     rand.New(rand.NewPCG(cfg.Seed, 0x63617074)), //nolint:gosec // a story must be repeatable, not unpredictable
		blocks:  map[any]block{},
		retryAt: map[gateKey]time.Duration{},
		booted:  map[string]bool{},
		quiet:   map[*Infra]bool{},
		counted: map[bool]int{},
	}
	p.w = &World{
		Cluster: Cluster{Name: "demo", Namespace: "default"},
		Infra:   &Infra{Role: contract.RoleCluster, Name: "demo"},
	}
	quiet.keep(p.w.Cluster.Name, p.w.Cluster.Namespace)
	p.eng.Tick = func(now time.Duration) { p.w.Now = now }
	p.template = "demo-template"
	p.race = cfg.Scenario.Race
	if p.race == "" {
		p.race = []Race{RaceClusterFirst, RaceMachineFirst}[p.rng.IntN(2)]
	}
	for _, role := range cfg.Modules.Roles() {
		p.hasPool = p.hasPool || role == contract.RoleMachinePool
	}
	endpoint := cfg.UserEndpoint
	if endpoint == nil && cfg.Scenario.Endpoint == EndpointUser {
		endpoint = &contract.Endpoint{Host: "api.example.com", Port: 6443}
	}
	p.endpointSource = contract.InitialEndpointSource(endpoint, nil)
	p.w.Cluster.Endpoint = endpoint
	registration, err := p.cp.FindRegistration(cmp.Or(cfg.Scenario.Registration, cfg.Registration))
	if err != nil {
		p.fatal(err)
	}
	p.w.Registration = registration
	p.w.RegistrationAddress = cmp.Or(cfg.Scenario.RegistrationAddress, cfg.RegistrationAddress)
	p.w.ControlPlane.Annotations = cfg.Scenario.Annotations
	p.w.Bootstrap = cfg.Scenario.Bootstrap
	p.w.Balancer = newBalancer(cfg, p.endpointSource == contract.EndpointSourceUser)
	p.rec = newRecorder(cfg, p.endpointSource == contract.EndpointSourceUser || cfg.Scenario.Endpoint == EndpointLate)
	p.rec.exempt = p.w.Registration.exemptions()
	p.rec.clean = quiet.clean
	return p
}

// settle runs every controller until none changes anything.
func (p *play) settle() {
	for again := true; again && !p.over(); {
		again = false
		for _, c := range controllers {
			if p.over() {
				return
			}
			again = c.run(p) || again
		}
	}
	if now := p.fingerprint(); now != p.progress {
		p.progress, p.lastProgress = now, p.w.Now
	}
	if p.cfg.Watch != nil && !p.over() {
		p.cfg.Watch(p.w)
	}
}

// over tells that the story ends here.
func (p *play) over() bool { return p.stopped || p.ended || p.err != nil }

// fatal ends the story because the harness itself cannot go on.
func (p *play) fatal(err error) {
	p.err = errors.Join(p.err, err)
}

// fingerprint changes whenever the cluster comes closer to what is asked for.
// Refreshes and token rotations that change nothing leave it alone.
func (p *play) fingerprint() string {
	w := p.w
	s := fmt.Sprint(len(w.ControlPlane.Servers), w.Infra.Provisioned, w.Infra.Gone, w.Infra.Running == OpApply, w.Infra.Running == OpDestroy, w.Cluster.Endpoint.Valid(),
		w.Cluster.InfrastructureProvisioned, w.Cluster.ControlPlaneInitialized, w.ControlPlane.Gone, len(w.Nodes))
	for _, m := range w.Machines {
		s += fmt.Sprint(m.Name, m.Bootstrap != nil, m.Provisioned, m.Node != nil, m.Stage, m.Unhealthy != "", m.Infra.AppliedHash != "", m.Infra.Running == OpApply, m.Infra.Gone)
	}
	for _, i := range w.infras() {
		if i.settling {
			s += fmt.Sprint(i.Name, i.Refreshes)
		}
		for _, n := range i.failures {
			s += fmt.Sprint(i.Name, n)
		}
	}
	if w.Pool != nil {
		s += fmt.Sprint(w.Pool.Replicas, w.Pool.Bootstrap != nil, w.Pool.Nodes, w.Pool.Infra.Provisioned, w.Pool.Infra.Gone)
	}
	return s
}

// open evaluates a gate for a subject. A gate with a retry interval is looked
// at only when that has passed, as a controller does that cannot watch.
func (p *play) open(subject any, g Gate, cond func() (bool, any)) bool {
	key := gateKey{g.ID, subject}
	if at, waiting := p.retryAt[key]; waiting && p.w.Now < at {
		return false
	}
	ok, on := cond()
	if ok {
		p.opened(subject, g)
		delete(p.retryAt, key)
		if b, blocked := p.blocks[subject]; blocked && b.gate.ID == g.ID {
			delete(p.blocks, subject)
		}
		return true
	}
	p.closed(subject, g)
	p.blocks[subject] = block{gate: g, on: on}
	if g.Retry > 0 {
		p.retryAt[key] = p.w.Now + g.Retry
		p.eng.After(g.Retry, func() {})
	}
	return false
}

func (p *play) openCheck(subject any, c Check, m *Machine) bool {
	return p.open(subject, c.Gate, func() (bool, any) { return c.Open(p.w, m) })
}

// suffix returns five characters as the API server appends them to names.
func (p *play) suffix() string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for n := range b {
		b[n] = alphabet[p.rng.IntN(len(alphabet))]
	}
	return string(b)
}

// jitter returns up to half of d.
func (p *play) jitter(d time.Duration) time.Duration {
	return time.Duration(p.rng.Int64N(int64(d)/2 + 1)).Round(time.Second)
}

func (p *play) controlPlaneRef() string { return p.cp.Kind + "/" + p.w.Cluster.Name }

// tell adds a line to the story.
func (p *play) tell(t EventType, actor, object, event string) {
	p.record(StoryStep{At: p.w.Now.Seconds(), Type: t, Actor: actor, Object: object, Event: event})
}

func (p *play) record(s StoryStep) {
	s.Event = p.discreet.clean(s.Event)
	p.steps = append(p.steps, s)
	p.react(s)
	if p.cfg.Story != nil {
		p.cfg.Story(s)
	}
}
