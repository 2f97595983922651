package balancer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const second = time.Second

func attachment() *Balancer {
	return New(&Membership{Pattern: PatternAttachment, Members: []Member{{Listener: ListenerAPI, Address: "terraform_data.member"}}})
}

func TestUp(t *testing.T) {
	tests := []struct {
		name string
		with func(b *Balancer)
		// up are the times in seconds at which the view turns, the first to up.
		turns []int
	}{
		{"registered, never serves", func(b *Balancer) { b.Register(0, "a", ListenerAPI) }, nil},
		{"serves, never registered", func(b *Balancer) { b.Serve(0, "a") }, nil},
		{"registered first", func(b *Balancer) { b.Register(0, "a", ListenerAPI); b.Serve(100*second, "a") }, []int{160}},
		{"served first", func(b *Balancer) { b.Serve(0, "a"); b.Register(100*second, "a", ListenerAPI) }, []int{160}},
		{"stops", func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Stop(200*second, "a")
		}, []int{60, 230}},
		{"stops before it was noticed", func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Stop(59*second, "a")
		}, nil},
		{"a gap too short to be noticed", func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Stop(100*second, "a")
			b.Serve(129*second, "a")
		}, []int{60}},
		{"a gap that is noticed", func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Stop(100*second, "a")
			b.Serve(140*second, "a")
		}, []int{60, 130, 200}},
		{"registered late", func(b *Balancer) {
			b.Delay("a", 300*second)
			b.Register(10*second, "a", ListenerAPI)
			b.Serve(20*second, "a")
		}, []int{370}},
		{"delayed after its registration", func(b *Balancer) {
			b.Register(10*second, "a", ListenerAPI)
			b.Delay("a", 300*second)
			b.Serve(20*second, "a")
		}, []int{370}},
		{"registered never", func(b *Balancer) {
			b.Delay("a", Never)
			b.Register(10*second, "a", ListenerAPI)
			b.Serve(20*second, "a")
		}, nil},
		{"deregistered", func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Deregister("a")
		}, nil},
		{"windows from a health check", func(b *Balancer) {
			b.SetWindow(ListenerAPI, Window{Healthy: 20 * second, Unhealthy: 5 * second})
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Stop(50*second, "a")
		}, []int{20, 55}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := attachment()
			tt.with(b)
			var turns []int
			up := false
			for s := range 1000 {
				if now := b.Up(time.Duration(s)*second, "a", ListenerAPI); now != up {
					up, turns = now, append(turns, s)
				}
			}
			if diff := cmp.Diff(tt.turns, turns); diff != "" {
				t.Errorf("the view turns at (-want +got):\n%s", diff)
			}
			var next []int
			for at, ok := b.Next(-1); ok; at, ok = b.Next(at) {
				next = append(next, int(at/second))
			}
			if diff := cmp.Diff(tt.turns, next); diff != "" {
				t.Errorf("Next returns (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReach(t *testing.T) {
	three := func(b *Balancer) {
		for _, m := range []string{"a", "b", "c"} {
			b.Register(0, m, ListenerAPI)
			b.Serve(0, m)
		}
	}
	tests := []struct {
		name string
		b    *Balancer
		with func(b *Balancer)
		from string
		l    Listener
		want Reach
	}{
		{name: "nothing serves", b: attachment(), with: func(b *Balancer) { b.Register(0, "a", ListenerAPI) }, want: Reach{Why: "no control-plane node serves yet"}},
		{name: "up", b: attachment(), with: three, want: Reach{OK: true}},
		{name: "not yet healthy", b: attachment(), with: func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(970*second, "a")
		}, want: Reach{Why: "the balancer has not yet found a healthy"}},
		{name: "never registered", b: attachment(), with: func(b *Balancer) { b.Serve(0, "a") },
			want: Reach{Why: "the api listener has no backend: a serves and is not registered", Requirement: "CP-030"}},
		{name: "never takes effect", b: attachment(), with: func(b *Balancer) {
			b.Delay("a", Never)
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
		}, want: Reach{Why: "the api listener has no backend: a serves and is not registered", Requirement: "CP-030"}},
		{name: "supervisor never registered", b: attachment(), with: three, l: ListenerSupervisor,
			want: Reach{Why: "the supervisor listener has no backend: a, b, c serve and are not registered", Requirement: "CP-032"}},
		{name: "hairpin", b: attachment(), with: func(b *Balancer) { b.Register(0, "a", ListenerAPI); b.Serve(0, "a") }, from: "a", want: Reach{OK: true}},
		{name: "no hairpin, alone", b: attachment(), with: func(b *Balancer) {
			b.SetHairpin(false)
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
		}, from: "a", want: Reach{Why: "a is the only healthy backend, and the balancer leads no backend back to itself (hairpin)", Requirement: "CP-020"}},
		{name: "no hairpin, another backend", b: attachment(), with: func(b *Balancer) { b.SetHairpin(false); three(b) }, from: "a", want: Reach{OK: true}},
		{name: "no hairpin, from outside", b: attachment(), with: func(b *Balancer) {
			b.SetHairpin(false)
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
		}, want: Reach{OK: true}},
		{name: "a dead backend", b: attachment(), with: func(b *Balancer) { three(b); b.Stop(980*second, "b") }, want: Reach{OK: true, Dead: []string{"b"}}},
		{name: "only a dead backend", b: attachment(), with: func(b *Balancer) {
			b.Register(0, "a", ListenerAPI)
			b.Serve(0, "a")
			b.Stop(980*second, "a")
		}, want: Reach{Why: "no control-plane node serves yet", Dead: []string{"a"}}},
		{name: "unknown membership", b: New(nil), with: func(b *Balancer) { b.Serve(999*second, "a") }, want: Reach{OK: true}},
		{name: "unknown membership, the other listener", b: New(nil), with: func(b *Balancer) { b.Serve(999*second, "a") }, l: ListenerSupervisor, want: Reach{OK: true}},
		{name: "no balancer, by itself", b: New(&Membership{Pattern: PatternNone}), with: func(b *Balancer) {
			b.SetHairpin(false)
			b.Serve(999*second, "a")
		}, from: "a", want: Reach{OK: true}},
		{name: "an endpoint of the user's", b: attachment(), with: func(b *Balancer) { b.Bypass("the user gives the endpoint"); b.Serve(999*second, "a") }, want: Reach{OK: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.with(tt.b)
			if tt.l == "" {
				tt.l = ListenerAPI
			}
			if diff := cmp.Diff(tt.want, tt.b.Reach(1000*second, tt.from, tt.l)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNews(t *testing.T) {
	b := attachment()
	b.Register(0, "a", ListenerAPI)
	b.Serve(0, "a")
	said := func(at int) []Event { return b.News(time.Duration(at) * second) }
	if got := said(59); got != nil {
		t.Errorf("news before the window has passed: %v", got)
	}
	if got := said(60); len(got) != 1 || !got[0].Up || got[0].Machine != "a" {
		t.Errorf("news when it has: %v", got)
	}
	if got := said(60); got != nil {
		t.Errorf("the same again: %v", got)
	}
	b.Deregister("a")
	if got := said(61); len(got) != 1 || got[0].Up {
		t.Errorf("news of a backend that left: %v", got)
	}
}

// Whatever happens in whatever order: Next finds every turn, the windows hold,
// and a backend that is not registered is never up.
func TestBalancerInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := attachment()
		machines := []string{"a", "b"}
		now := time.Duration(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 90).Draw(t, "wait")) * second
			m := rapid.SampledFrom(machines).Draw(t, "machine")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				b.Register(now, m, ListenerAPI)
			case 1:
				b.Deregister(m)
			case 2:
				b.Serve(now, m)
			case 3:
				b.Stop(now, m)
			}
			for _, m := range machines {
				if b.Up(now, m, ListenerAPI) && !b.Registered(m, ListenerAPI) {
					t.Fatalf("%s is up and not registered", m)
				}
			}
			r := b.Reach(now, Management, ListenerAPI)
			if r.OK == (r.Why != "") {
				t.Fatalf("a reason without need, or none: %+v", r)
			}
		}
		for _, m := range machines {
			settled := now + DefaultHealthy + DefaultUnhealthy
			if want := b.Registered(m, ListenerAPI) && b.Serves(m); b.Up(settled, m, ListenerAPI) != want {
				t.Fatalf("%s is up: %t after every window", m, !want)
			}
		}
		view := func(at time.Duration) [2]bool {
			return [2]bool{b.Up(at, "a", ListenerAPI), b.Up(at, "b", ListenerAPI)}
		}
		for at := now; ; {
			next, ok := b.Next(at)
			end := next
			if !ok {
				end = at + 200*second
			}
			for s := at; s < end; s += second {
				if view(s) != view(at) {
					t.Fatalf("the view turns at %s, which Next(%s) = %s missed", s, at, next)
				}
			}
			if !ok {
				break
			}
			at = next
		}
	})
}
