package rke2

import (
	"slices"
	"testing"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// world is a cluster whose control-plane machines have the given addresses.
func world(addresses ...[]contract.Address) *harness.World {
	w := &harness.World{
		Cluster:             harness.Cluster{Name: "demo", Namespace: "default", Endpoint: &contract.Endpoint{Host: "api.example.com", Port: 7443}},
		RegistrationAddress: "register.example.com",
	}
	for _, list := range addresses {
		w.Machines = append(w.Machines, &harness.Machine{ControlPlane: true, Infra: &harness.Infra{Machine: &contract.MachineOutputs{Addresses: list}}})
	}
	return w
}

// R3: each method with each set of addresses gives the first address or none.
func TestRegistrationMatrix(t *testing.T) {
	internal := contract.Address{Type: contract.AddressInternalIP, Address: "10.0.0.1"}
	external := contract.Address{Type: contract.AddressExternalIP, Address: "203.0.113.1"}
	hostname := contract.Address{Type: contract.AddressHostname, Address: "a.example.com"}
	sets := map[string][]contract.Address{
		"none": {}, "hostname": {hostname}, "internal": {internal, hostname}, "external": {external}, "both": {internal, external}, "external first": {external, internal},
	}
	for method, want := range map[string]map[string]string{
		methodEndpoint: {
			"none": "api.example.com", "hostname": "api.example.com", "internal": "api.example.com", "external": "api.example.com", "both": "api.example.com", "external first": "api.example.com",
		},
		methodAddress: {
			"none": "register.example.com", "hostname": "register.example.com", "internal": "register.example.com", "external": "register.example.com", "both": "register.example.com", "external first": "register.example.com",
		},
		methodInternalFirst: {"internal": "10.0.0.1", "external": "203.0.113.1", "both": "10.0.0.1", "external first": "203.0.113.1"},
		methodInternalOnly:  {"internal": "10.0.0.1", "both": "10.0.0.1", "external first": "10.0.0.1"},
		methodExternalOnly:  {"external": "203.0.113.1", "both": "203.0.113.1", "external first": "203.0.113.1"},
	} {
		r, err := table().FindRegistration(method)
		if err != nil {
			t.Fatal(err)
		}
		for name, set := range sets {
			t.Run(method+"/"+name, func(t *testing.T) {
				w := world(set)
				servers := r.Servers(w, w.Machines)
				first := ""
				if len(servers) > 0 {
					first = servers[0]
				}
				if first != want[name] {
					t.Errorf("nodes join at %q, want %q", first, want[name])
				}
				if r.Fits != nil && r.Fits(set) != (want[name] != "") {
					t.Errorf("fits is %t, and nodes join at %q", r.Fits(set), first)
				}
				if (r.Fits != nil) != r.AnyOrder {
					t.Error("a method that goes by machines has no order, every other has one")
				}
			})
		}
	}
}

// A method that goes by machines lists each Ready one that has an address.
func TestEveryReadyMachineIsListed(t *testing.T) {
	ip := func(a string) []contract.Address {
		return []contract.Address{{Type: contract.AddressInternalIP, Address: a}}
	}
	w := world(ip("10.0.0.1"), nil, ip("10.0.0.3"))
	r, err := table().FindRegistration(methodInternalOnly)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Servers(w, w.Machines); !slices.Equal(got, []string{"10.0.0.1", "10.0.0.3"}) {
		t.Errorf("nodes join at %v", got)
	}
}

func TestJoinURL(t *testing.T) {
	for host, want := range map[string]string{
		"10.0.0.1": "https://10.0.0.1:9345", "api.example.com": "https://api.example.com:9345", "2001:db8::1": "https://[2001:db8::1]:9345",
	} {
		if got := joinURL(host); got != want {
			t.Errorf("joinURL(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestAdmit(t *testing.T) {
	address, err := table().FindRegistration(methodAddress)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name             string
		replicas         int
		method           *harness.Registration
		host             string
		refused, warning bool
	}{
		{name: "none", replicas: 0, refused: true},
		{name: "one", replicas: 1},
		{name: "two", replicas: 2, warning: true},
		{name: "three", replicas: 3},
		{name: "address without one", replicas: 1, method: address, refused: true},
		{name: "address", replicas: 1, method: address, host: "a.example.com"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &harness.World{Registration: tt.method, RegistrationAddress: tt.host}
			w.Spec.ControlPlanes = tt.replicas
			refusal, warning := admit(w)
			if (refusal != "") != tt.refused || (warning != "") != tt.warning {
				t.Errorf("refusal %q, warning %q", refusal, warning)
			}
		})
	}
}
