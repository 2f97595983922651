package simcloud_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/captf-toolkit/captf/sdk/runtime"
	"github.com/captf-toolkit/captf/sdk/runtime/runtimetest"
	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// tinyPersona is what the schema in testdata does not say.
func tinyPersona() *simcloud.Persona {
	return &simcloud.Persona{
		Source:   "example.com/acme/tiny",
		Settings: simcloud.Settings{Region: "r1", Account: "acme"},
		Configure: func(config map[string]any) simcloud.Settings {
			region, _ := config["region"].(string)
			return simcloud.Settings{Region: region, Tags: map[string]string{"made-by": "test"}}
		},
		Refusals: map[simcloud.Refusal]string{simcloud.RefuseExists: "DuplicateName", simcloud.RefuseInUse: "DependencyViolation", simcloud.RefuseQuota: "LimitExceeded"},
		Types: map[string]simcloud.TypeRule{
			"tiny_network": {
				Kind: simcloud.KindNetwork, ForceNew: []string{"cidr"}, Defaults: map[string]any{"cidr": "10.0.0.0/16"}, Unique: [][]string{{"name"}},
				Values: map[string]simcloud.Value{"id": simcloud.Text("net-{hex:8}")},
				UsedBy: []simcloud.Reference{{Type: "tiny_instance", Attribute: "network_id"}},
			},
			"tiny_instance": {
				Kind: simcloud.KindInstance, ForceNew: []string{"network_id", "disk.gib", "size?options.fast"},
				Values: map[string]simcloud.Value{
					"id": simcloud.Text("i-{hex:17}"), "state": simcloud.Const("running"), "private_dns": simcloud.Text("ip-{attr:private_ip}.internal"),
					"private_ip":     simcloud.AddressIn("tiny_network", "network_id", "cidr", "192.168.0.0/16"),
					"disk.volume_id": simcloud.Text("vol-{hex:8}"), "disk.kind": simcloud.Const("ssd"),
				},
				Stopped: map[string]any{"state": "stopped"}, Addresses: []string{"private_ip", "private_dns"},
			},
			"tiny_lb_target_group_attachment": {Kind: simcloud.KindAttachment, Parents: []string{"target"}},
		},
		Data: map[string]simcloud.DataRule{
			"tiny_image": {Values: map[string]simcloud.Value{"id": simcloud.Text("img-{hex:6}")}},
		},
		Ephemeral: map[string]map[string]simcloud.Value{"tiny_token": {"token": simcloud.Text("t-{hex:12}")}},
		Functions: map[string]simcloud.Function{"shout": func(args []any) (any, error) {
			s, _ := args[0].(string)
			return strings.ToUpper(s), nil
		}},
	}
}

// serveTiny serves the tiny provider.
func serveTiny(t testing.TB, l simcloud.Limits) *simcloud.Server {
	t.Helper()
	p := tinyPersona()
	schema, err := simcloud.ReadSchemaFile("testdata/tiny.json", simcloud.ReadOptions{Persona: p})
	if err != nil {
		t.Fatal(err)
	}
	s, err := simcloud.Start(simcloud.Options{Providers: []simcloud.Provider{{Schema: schema, Persona: p}}, Cloud: simcloud.NewCloud(l)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// workdir opens a directory with one file on a server.
func workdir(t testing.TB, b *runtime.Binary, s *simcloud.Server, owner, config string) *runtime.Workdir {
	t.Helper()
	value, err := s.Reattach(owner)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	runtimetest.Write(t, dir, map[string]string{"main.tf": config})
	return runtimetest.Workdir(t, b, dir, runtime.WorkdirOptions{Env: map[string]string{"TF_REATTACH_PROVIDERS": value}})
}

const head = `terraform {
  required_providers {
    tiny = { source = "example.com/acme/tiny", version = ">= 99.0" }
  }
}
`

// everything uses every part of the tiny schema.
const everything = head + `
provider "tiny" { region = "r2" }
provider "tiny" {
  alias  = "other"
  region = "r9"
}
variable "size" { default = "small" }
variable "gib"  { default = 20 }
variable "extra" { default = 0 }
resource "tiny_network" "n" {
  name = "n"
  tags = { a = "b" }
}
resource "tiny_network" "far" {
  provider = tiny.other
  name     = "n"
  cidr     = "10.9.0.0/24"
}
data "tiny_image" "i" { name = "capi" }
resource "tiny_instance" "i" {
  name                = "i"
  size                = var.size
  network_id          = tiny_network.n.id
  factor              = 3.5
  anything            = { list = [1, "two", null], image = data.tiny_image.i.id }
  password_wo         = "hunter2"
  password_wo_version = 1
  nics                = [{ network = "a" }, { network = "b" }]
  disk { gib = var.gib }
  disk {
    gib  = 5
    kind = "slow"
  }
  rule { port = 80 }
  rule {
    port = 443
    note = "tls"
  }
  dynamic "rule" {
    for_each = range(var.extra)
    content { port = 1000 + rule.value }
  }
  options { fast = true }
  timeouts { create = "5m" }
}
resource "tiny_lb_target_group_attachment" "a" {
  target      = "tg-1"
  instance_id = tiny_instance.i.id
}
data "tiny_network" "found" { name = tiny_network.n.name }
data "tiny_instances" "all" {
  filter {
    name   = "network-id"
    values = [tiny_network.n.id]
  }
  depends_on = [tiny_instance.i]
}
output "all" {
  value = {
    net = tiny_network.n, far = tiny_network.far, cidr = data.tiny_network.found.cidr, ids = data.tiny_instances.all.ids
    ip = tiny_instance.i.private_ip, dns = tiny_instance.i.private_dns, disks = tiny_instance.i.disk, nics = tiny_instance.i.nics
    rules = tiny_instance.i.rule, anything = tiny_instance.i.anything, image = data.tiny_image.i.id, write_only = tiny_instance.i.password_wo
  }
}
`

// ok ends the test if a run failed.
func ok(t testing.TB) func(*runtime.Result, error) *runtime.Result {
	t.Helper()
	return func(res *runtime.Result, err error) *runtime.Result {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

// outputs returns the outputs as text, without types.
func outputs(t testing.TB, w *runtime.Workdir) map[string]any {
	t.Helper()
	out, err := w.Outputs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	for name, o := range out {
		var x any
		if err := json.Unmarshal(o, &x); err != nil {
			t.Fatal(err)
		}
		values[name] = x
	}
	return values
}

// A life of everything that a schema has is the same on both runtimes, plans nothing when
// nothing changed, and leaves nothing.
func TestCycle(t *testing.T) {
	var first map[string]any
	runtimetest.Each(t, func(t *testing.T, b *runtime.Binary) {
		s := serveTiny(t, simcloud.Limits{})
		w := workdir(t, b, s, "machine-1", everything)
		ok(t)(w.Init(t.Context(), runtime.InitOptions{}))
		ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
		got := outputs(t, w)
		if first == nil {
			first = got
		} else if d := cmp.Diff(first, got); d != "" {
			t.Errorf("the runtimes got different values (-first +now):\n%s", d)
		}
		all := got["all"].(map[string]any)
		for name, want := range map[string]string{"cidr": "10.0.0.0/16"} {
			if all[name] != want {
				t.Errorf("%s is %v, want %s", name, all[name], want)
			}
		}
		if region := all["far"].(map[string]any)["region"]; region != "r9" {
			t.Errorf("the alias made its network in %v", region)
		}
		if d := cmp.Diff(map[string]any{"a": "b", "made-by": "test"}, all["net"].(map[string]any)["tags_all"]); d != "" {
			t.Errorf("tags_all (-want +got):\n%s", d)
		}
		if ip := fmt.Sprint(all["ip"]); !strings.HasPrefix(ip, "10.0.") || all["dns"] != "ip-"+ip+".internal" {
			t.Errorf("the address is %s, and the name %v", ip, all["dns"])
		}
		if res := ok(t)(w.Plan(t.Context(), runtime.PlanOptions{})); res.Changed {
			t.Errorf("the plan after the apply is not empty: %+v", res.Planned)
		}
		for _, o := range s.Cloud().Objects() {
			if o.Owner != "machine-1" {
				t.Errorf("%s %s is owned by %q", o.Type, o.ID, o.Owner)
			}
		}
		ok(t)(w.Refresh(t.Context()))
		ok(t)(w.Destroy(t.Context(), runtime.ApplyOptions{}))
		if left := s.Cloud().Objects(); len(left) != 0 {
			t.Errorf("left behind: %+v", left)
		}
	})
}

// What is changed in a configuration is updated in place or replaced, as the rules say.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name, old, change string
		want              runtime.Action
	}{
		{"in place", `"slow"`, `"slower"`, runtime.Update},
		{"replaced for a block", `var.gib }`, `21 }`, runtime.Replace},
		{"replaced under a condition", `var.size`, `"large"`, runtime.Replace},
		{"an element of a set", `port = 80 }`, `port = 81 }`, runtime.Update},
		{"an argument that leaves", `size                = var.size`, ``, runtime.Replace},
		{"a default that comes back", `cidr     = "10.9.0.0/24"`, ``, runtime.Replace},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := runtimetest.OpenTofu(t)
			s := serveTiny(t, simcloud.Limits{})
			w := workdir(t, b, s, "", everything)
			ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
			changed := strings.Replace(everything, c.old, c.change, 1)
			if changed == everything {
				t.Fatal("nothing changed")
			}
			runtimetest.Write(t, w.Dir(), map[string]string{"main.tf": changed})
			res := ok(t)(w.Apply(t.Context(), runtime.ApplyOptions{}))
			if len(res.Planned) == 0 || res.Planned[0].Action != c.want {
				t.Errorf("planned %+v, want %s first", res.Planned, c.want)
			}
			if res = ok(t)(w.Plan(t.Context(), runtime.PlanOptions{})); res.Changed {
				t.Errorf("the next plan is not empty: %+v", res.Planned)
			}
		})
	}
}
