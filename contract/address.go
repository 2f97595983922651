package contract

import (
	"cmp"
	"slices"
)

// AddressType is the kind of an address, with the names of Cluster API.
type AddressType string

// The address types, in canonical order. RKE2 registration takes the first
// match in list order, so InternalIP comes first (contract.md 10.2).
const (
	AddressInternalIP  AddressType = "InternalIP"
	AddressInternalDNS AddressType = "InternalDNS"
	AddressExternalIP  AddressType = "ExternalIP"
	AddressExternalDNS AddressType = "ExternalDNS"
	AddressHostname    AddressType = "Hostname"
)

// AddressTypes returns every address type in canonical order.
func AddressTypes() []AddressType {
	return []AddressType{AddressInternalIP, AddressInternalDNS, AddressExternalIP, AddressExternalDNS, AddressHostname}
}

// SortAddresses puts addresses into canonical order: by type, then by address.
func SortAddresses(addresses []Address) {
	order := AddressTypes()
	slices.SortStableFunc(addresses, func(a, b Address) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type)),
			cmp.Compare(a.Address, b.Address),
		)
	})
}
