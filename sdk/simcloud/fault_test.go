package simcloud_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// pair is a network with an instance in it.
const pair = head + `
resource "tiny_network" "n" { name = "n" }
resource "tiny_instance" "i" {
  name       = "i"
  network_id = tiny_network.n.id
  disk { gib = 10 }
}
output "ip" { value = tiny_instance.i.private_ip }
`

// only returns the only object of a type.
func only(t testing.TB, s *simcloud.Server, typ string) *simcloud.Object {
	t.Helper()
	var found []*simcloud.Object
	for _, o := range s.Cloud().Objects() {
		if o.Type == typ {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d objects of type %s, want 1", len(found), typ)
	}
	return found[0]
}

// fails ends the test unless a run fails, and returns what it said.
func fails(t testing.TB) func(*runtime.Result, error) string {
	t.Helper()
	return func(_ *runtime.Result, err error) string {
		t.Helper()
		if err == nil {
			t.Fatal("it did not fail")
		}
		return err.Error()
	}
}

// What changes out of band is found by the next refresh.
func TestOutOfBand(t *testing.T) {
	s := serveTiny(t, simcloud.Limits{})
	cloud := s.Cloud()
	w := workdir(t, runtimetest.OpenTofu(t), s, "", pair)
	ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
	i := only(t, s, "tiny_instance")
	before := outputs(t, w)["ip"]

	if err := cloud.Readdress(i.Type, i.ID); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Stop(i.Type, i.ID); err != nil {
		t.Fatal(err)
	}
	ok(t)(w.Refresh(t.Context()))
	if now := outputs(t, w)["ip"]; now == before || !strings.HasPrefix(now.(string), "10.0.") {
		t.Errorf("the address is %v after the change, and was %v", now, before)
	}
	if state := only(t, s, "tiny_instance").Text("state"); state != "stopped" {
		t.Errorf("the instance is %s", state)
	}
	if err := cloud.Alter(i.Type, i.ID, map[string]any{"size": "huge"}); err != nil {
		t.Fatal(err)
	}
	if res := ok(t)(w.Plan(t.Context(), runtime.PlanOptions{})); !res.Changed || res.Planned[0].Action != runtime.Update {
		t.Errorf("an argument that changed out of band is planned as %+v", res.Planned)
	}
	if !cloud.Delete(i.Type, i.ID) || cloud.Delete(i.Type, i.ID) {
		t.Error("deleting twice")
	}
	if res := ok(t)(w.Plan(t.Context(), runtime.PlanOptions{})); !res.Changed || res.Planned[0].Action != runtime.Create {
		t.Errorf("an instance that is gone is planned as %+v", res.Planned)
	}
	for name, err := range map[string]error{
		"stop": cloud.Stop(i.Type, i.ID), "alter": cloud.Alter(i.Type, i.ID, nil), "readdress": cloud.Readdress(i.Type, i.ID),
		"no address": cloud.Readdress("tiny_network", only(t, s, "tiny_network").ID), "no state": cloud.Stop("tiny_network", only(t, s, "tiny_network").ID),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A call that is refused leaves what was there; one that broke off leaves a tainted object.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		fault   simcloud.Fault
		says    string
		objects int
		next    runtime.Action
	}{
		"the second create":    {simcloud.Fault{Op: simcloud.OpCreate, Nth: 2, Err: "out of order"}, "out of order", 1, runtime.Create},
		"a quota":              {simcloud.Fault{Type: "*_instance", Refusal: simcloud.RefuseQuota}, "LimitExceeded", 1, runtime.Create},
		"a create broken off":  {simcloud.Fault{Kind: simcloud.KindInstance, Err: "lost", Partial: true}, "lost", 2, runtime.Replace},
		"an owner":             {simcloud.Fault{Owner: "machine-*", Err: "not today", Times: -1}, "not today", 0, runtime.Create},
		"a change of a parent": {simcloud.Fault{Shared: true, Refusal: simcloud.RefuseConflict}, "", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveTiny(t, simcloud.Limits{})
			w := workdir(t, runtimetest.OpenTofu(t), s, "machine-a", pair)
			f := s.Cloud().AddFault(c.fault)
			res, err := w.Apply(t.Context(), runtime.ApplyOptions{})
			if c.says == "" {
				ok(t)(res, err)
				if f.Hits() != 0 {
					t.Errorf("it struck %d times", f.Hits())
				}
				return
			}
			if said := fails(t)(res, err); !strings.Contains(said, c.says) {
				t.Errorf("it said %q, want %q", said, c.says)
			}
			if f.Hits() == 0 || len(s.Cloud().Objects()) != c.objects {
				t.Errorf("struck %d times, left %d objects, want %d", f.Hits(), len(s.Cloud().Objects()), c.objects)
			}
			f.Remove()
			if res := ok(t)(w.Plan(t.Context(), runtime.PlanOptions{})); res.Planned[0].Action != c.next {
				t.Errorf("planned next: %+v, want %s", res.Planned, c.next)
			}
			ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
			ok(t)(w.Destroy(t.Context(), runtime.ApplyOptions{}))
			if left := s.Cloud().Objects(); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
		})
	}
}

// A refresh that sees nothing once makes the runtime forget what exists.
func TestBlindRefresh(t *testing.T) {
	s := serveTiny(t, simcloud.Limits{})
	w := workdir(t, runtimetest.OpenTofu(t), s, "", pair)
	ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
	f := s.Cloud().AddFault(simcloud.Fault{Op: simcloud.OpRead, Type: "tiny_instance", Blind: true})
	ok(t)(w.Refresh(t.Context()))
	if f.Hits() != 1 {
		t.Errorf("it struck %d times", f.Hits())
	}
	ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
	if n := len(s.Cloud().Objects()); n != 3 {
		t.Errorf("there are %d objects, want the forgotten instance, a new one and the network", n)
	}
	// The forgotten instance keeps the network in use.
	if said := fails(t)(w.Destroy(t.Context(), runtime.ApplyOptions{})); !strings.Contains(said, "DependencyViolation") {
		t.Errorf("it said %q", said)
	}
}

// Names that must differ are refused, in the region that they are unique in.
func TestUnique(t *testing.T) {
	s := serveTiny(t, simcloud.Limits{})
	b := runtimetest.OpenTofu(t)
	config := head + `resource "tiny_network" "n" { name = "taken" }`
	ok(t)(workdir(t, b, s, "a", config).Apply(t.Context(), runtime.ApplyOptions{}))
	if said := fails(t)(workdir(t, b, s, "b", config).Apply(t.Context(), runtime.ApplyOptions{})); !strings.Contains(said, `DuplicateName: name "taken"`) {
		t.Errorf("it said %q", said)
	}
	ok(t)(workdir(t, b, s, "c", strings.Replace(config, `{ name = "taken" }`, "{\nname = \"taken\"\nregion = \"r7\"\n}", 1)).Apply(t.Context(), runtime.ApplyOptions{}))
	calls, lost := s.Cloud().Journal()
	if len(calls) != 3 || lost != 0 || calls[1].Error == "" || calls[1].Owner != "b" || calls[2].Region != "r7" {
		t.Errorf("the journal is %+v", calls)
	}
}

// A runtime that is interrupted ends calls that heed it, waits for those that do not, and
// ends no call of another run.
func TestInterrupt(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		for name, deaf := range map[string]bool{"heeded": false, "deaf": true} {
			t.Run(name, func(t *testing.T) {
				s := serveTiny(t, simcloud.Limits{})
				other := s.Cloud().AddFault(simcloud.Fault{Op: simcloud.OpCreate, Owner: "other", Hang: true})
				f := s.Cloud().AddFault(simcloud.Fault{Op: simcloud.OpCreate, Owner: "mine", Type: "tiny_instance", Hang: true, Deaf: deaf})
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				octx, end := context.WithCancel(t.Context())
				wg.Go(func() {
					_, err := workdir(t, b, s, "other", head+`resource "tiny_network" "n" { name = "other" }`).Apply(octx, runtime.ApplyOptions{})
					if err == nil {
						t.Error("the other run ended well")
					}
				})
				wg.Go(func() {
					<-other.Hit()
					<-f.Hit()
					cancel()
				})
				w := workdir(t, b, s, "mine", pair)
				_, err := w.Apply(ctx, runtime.ApplyOptions{})
				if !errors.Is(err, runtime.ErrInterrupted) {
					t.Errorf("the run ended with %v", err)
				}
				select {
				case <-other.Done():
					t.Error("the interrupt ended a call of the other run")
				default:
				}
				want := 1
				if deaf {
					want = 2
				}
				state, err := w.State()
				if err != nil {
					t.Fatal(err)
				}
				if got := len(s.Cloud().Objects()); got != want || len(state.Resources) != want {
					t.Errorf("%d objects exist, and %d are in the state, want %d", got, len(state.Resources), want)
				}
				end()
				wg.Wait()
			})
		}
	})
}

// What was being created when a runtime is killed exists, and no state records it.
func TestKill(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		s := serveTiny(t, simcloud.Limits{})
		f := s.Cloud().AddFault(simcloud.Fault{Op: simcloud.OpCreate, Type: "tiny_instance", Hang: true, Deaf: true})
		value, err := s.Reattach("")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		runtimetest.Write(t, dir, map[string]string{"main.tf": pair})
		kill := make(chan struct{})
		w := runtimetest.Workdir(t, b, dir, runtime.WorkdirOptions{Env: map[string]string{"TF_REATTACH_PROVIDERS": value}, Kill: kill})
		go func() {
			<-f.Hit()
			close(kill)
		}()
		_, err = w.Apply(t.Context(), runtime.ApplyOptions{})
		re, is := errors.AsType[*runtime.RunError](err)
		if !is || !re.Killed || re.Interrupted {
			t.Fatalf("the run ended with %v", err)
		}
		<-f.Done()
		only(t, s, "tiny_instance")
		state, err := w.State()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range state.Resources {
			if r.Type == "tiny_instance" {
				t.Error("the state records the instance")
			}
		}
	})
}

// A cloud that is saved and read again is the same to a runtime.
func TestSave(t *testing.T) {
	b := runtimetest.OpenTofu(t)
	s := serveTiny(t, simcloud.Limits{})
	w := workdir(t, b, s, "", everything)
	ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
	file := filepath.Join(t.TempDir(), "cloud.json")
	if err := s.Cloud().Save(file); err != nil {
		t.Fatal(err)
	}
	cloud, err := simcloud.LoadCloud(file, simcloud.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p := tinyPersona()
	schema, err := simcloud.ReadSchemaFile("testdata/tiny.json", simcloud.ReadOptions{Persona: p})
	if err != nil {
		t.Fatal(err)
	}
	again, err := simcloud.Start(simcloud.Options{Providers: []simcloud.Provider{{Schema: schema, Persona: p}}, Cloud: cloud})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	value, err := again.Reattach("")
	if err != nil {
		t.Fatal(err)
	}
	w = runtimetest.Workdir(t, b, w.Dir(), runtime.WorkdirOptions{Env: map[string]string{"TF_REATTACH_PROVIDERS": value}})
	if res := ok(t)(w.Plan(t.Context(), runtime.PlanOptions{})); res.Changed {
		t.Errorf("planned: %+v", res.Planned)
	}
	ok(t)(w.Destroy(t.Context(), runtime.ApplyOptions{}))
	if left := cloud.Objects(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// What would not fit into memory is refused, and said.
func TestLimits(t *testing.T) {
	b := runtimetest.OpenTofu(t)
	for name, c := range map[string]struct {
		limits simcloud.Limits
		config string
		says   string
	}{
		"objects": {simcloud.Limits{Objects: 2}, `resource "tiny_network" "n" {
  count = 3
  name  = "n${count.index}"
}`, "there are 2 objects already"},
		"one object": {simcloud.Limits{ObjectBytes: 64 << 10}, `resource "tiny_network" "n" { name = join("", [for i in range(1024) : format("%0100d", i)]) }`, "an object of the simulated cloud may have 64 KiB"},
		"all objects": {simcloud.Limits{Bytes: 1 << 20}, `resource "tiny_network" "n" {
  count = 12
  name  = "${count.index}${join("", [for i in range(1024) : format("%0100d", i)])}"
}`, "it keeps 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveTiny(t, c.limits)
			w := workdir(t, b, s, "", head+c.config)
			if said := fails(t)(w.Apply(t.Context(), runtime.ApplyOptions{})); !strings.Contains(said, c.says) {
				t.Errorf("it said %.300q, want %q", said, c.says)
			}
			ok(t)(w.Destroy(t.Context(), runtime.ApplyOptions{}))
			if left := s.Cloud().Objects(); len(left) > 0 {
				t.Errorf("left %d objects", len(left))
			}
		})
	}
}

// Ephemeral resources, functions and imports.
func TestRest(t *testing.T) {
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		s := serveTiny(t, simcloud.Limits{})
		config := head + `
ephemeral "tiny_token" "t" { name = "x" }
resource "tiny_network" "n" {
  name = provider::tiny::shout("loud")
}
resource "tiny_instance" "i" {
  name                = "i"
  network_id          = tiny_network.n.id
  password_wo         = ephemeral.tiny_token.t.token
  password_wo_version = 1
}
`
		ok(t)(workdir(t, b, s, "", config).Apply(t.Context(), runtime.ApplyOptions{}))
		n := only(t, s, "tiny_network")
		if n.Text("name") != "LOUD" {
			t.Errorf("the function gave %q", n.Text("name"))
		}
		if o := only(t, s, "tiny_instance"); o.Get("password_wo") != nil {
			t.Error("what is write-only is kept")
		}
		w := workdir(t, b, s, "", head+`
import {
  to = tiny_network.again
  id = "`+n.ID+`"
}
resource "tiny_network" "again" { name = "LOUD" }
`)
		if res := ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{})); len(s.Cloud().Objects()) != 2 {
			t.Errorf("the import made something: %+v", res.Planned)
		}
		said := fails(t)(workdir(t, b, s, "", head+`output "x" { value = provider::tiny::mystery("a") }`).Apply(t.Context(), runtime.ApplyOptions{}))
		if !strings.Contains(said, "mystery") {
			t.Errorf("it said %q", said)
		}
	})
}
