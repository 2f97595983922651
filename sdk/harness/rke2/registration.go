package rke2

import (
	"net"
	"slices"
	"strconv"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/sdk/harness"
)

// The registration methods of RKE2ControlPlane (control-planes.md 3.3).
const (
	methodEndpoint      = "control-plane-endpoint"
	methodAddress       = "address"
	methodInternalFirst = "internal-first"
	methodInternalOnly  = "internal-only-ips"
	methodExternalOnly  = "external-only-ips"
)

// Requirements that are about joining through the endpoint's host, and about
// joining at addresses of machines.
var (
	endpointOnly = []string{"CP-016", "CP-019", "CP-032"}
	machineOnly  = []string{"CP-043"}
)

// registrations are the rows of control-planes.md 3.3.
func registrations() []harness.Registration {
	return []harness.Registration{
		{
			Name: methodEndpoint, Source: "control-planes.md 3.3",
			Servers: func(w *harness.World, _ []*harness.Machine) []string { return []string{w.Cluster.Endpoint.Host} },
			Exempt:  machineOnly,
		},
		{
			Name: methodAddress, Source: "control-planes.md 3.3", TakesAddress: true,
			Servers: func(w *harness.World, _ []*harness.Machine) []string { return []string{w.RegistrationAddress} },
			Exempt:  slices.Concat(endpointOnly, machineOnly),
		},
		byAddress(methodInternalFirst, "an InternalIP or ExternalIP", contract.AddressInternalIP, contract.AddressExternalIP),
		byAddress(methodInternalOnly, "an InternalIP", contract.AddressInternalIP),
		byAddress(methodExternalOnly, "an ExternalIP", contract.AddressExternalIP),
	}
}

// byAddress is a method that takes the first address of the given types from
// each Ready machine, in the order of the machine's list; machines come in the
// order of a Go map.
func byAddress(name, needs string, types ...contract.AddressType) harness.Registration {
	return harness.Registration{
		Name: name, Source: "control-planes.md 3.3", AnyOrder: true, Needs: needs, Requirement: "CP-043", Exempt: endpointOnly,
		Servers: func(_ *harness.World, ready []*harness.Machine) []string {
			var out []string
			for _, m := range ready {
				if a := firstOf(m.Infra.Machine.Addresses, types); a != "" {
					out = append(out, a)
				}
			}
			return out
		},
		Fits: func(addresses []contract.Address) bool { return firstOf(addresses, types) != "" },
	}
}

// firstOf returns the first address of one of the types; "" when there is none.
func firstOf(addresses []contract.Address, types []contract.AddressType) string {
	for _, a := range addresses {
		if slices.Contains(types, a.Type) {
			return a.Address
		}
	}
	return ""
}

// joinURL is where a node registers with a server (control-planes.md 3.3).
func joinURL(host string) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(SupervisorPort))
}
