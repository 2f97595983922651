package inspect

import (
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	cases := map[string]bool{
		"1.1.1.1": true, "93.184.216.34": true, "2606:4700::1111": true, "100.63.255.255": true, "100.128.0.0": true,
		"10.0.0.1": false, "127.0.0.1": false, "169.254.169.254": false, "172.31.0.1": false, "192.168.1.1": false,
		"100.64.0.1": false, "0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "198.18.0.1": false,
		"::": false, "::1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::a00:1": false,
		"2002:a00:1::": false, "fd00::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false, "::7f00:1": false,
		"2001:db8::1": false, "2001:0:a00:1::": false,
	}
	for text, want := range cases {
		if got := (Egress{}).allowsAddress(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is public: %v, not %v", text, got, want)
		}
	}
	if (Egress{}).allowsAddress(netip.Addr{}) {
		t.Error("no address is allowed")
	}
}

func TestEveryClassHasAText(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Classes() {
		text := (&Error{Class: c, Image: "x"}).Error()
		if seen[text] || text == "image x: cannot be read" {
			t.Errorf("class %s says %q", c, text)
		}
		seen[text] = true
	}
}
