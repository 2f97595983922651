package harness

import (
	"strings"
	"testing"
)

func TestBadHost(t *testing.T) {
	for host, want := range map[string]string{
		"10.0.0.1": "", "2001:db8::1": "", "::ffff:10.0.0.1": "", "api.example.com": "", "a": "", "1-a.b2": "", strings.Repeat("a.", 126) + "a": "",
		"https://api.example.com":       "scheme",
		"api.example.com/healthz":       "slash",
		"api example.com":               "whitespace",
		"api.example.com\n":             "whitespace or control",
		"api.example.com\x00":           "whitespace or control",
		"[2001:db8::1]":                 "brackets",
		"api.example.com:6443":          "port",
		"10.0.0.1:6443":                 "port",
		"[2001:db8::1]:6443":            "port",
		"fe80::1%eth0":                  "zone",
		"api.example.com.":              "neither",
		"API.example.com":               "neither",
		"api_1.example.com":             "neither",
		"*.example.com":                 "neither",
		"äpi.example.com":               "neither",
		"api.example.com:https":         "neither",
		"-a":                            "neither",
		"":                              "neither",
		"10.0.0.300":                    "last label is a number",
		"1-a.2":                         "last label is a number",
		"10.0.0.0x1f":                   "last label is a number",
		"12":                            "last label is a number",
		"0.0.0.0":                       "unspecified",
		"::":                            "unspecified",
		"127.0.0.1":                     "loopback",
		"::1":                           "loopback",
		"::ffff:127.0.0.1":              "loopback",
		"localhost":                     "for itself",
		"224.0.0.1":                     "no single machine",
		"255.255.255.255":               "no single machine",
		strings.Repeat("a.", 127) + "a": "255 characters",
	} {
		got := badHost(host)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("badHost(%q) is %q, want %q", host, got, want)
		}
	}
}

func TestBadProviderID(t *testing.T) {
	for id, want := range map[string]string{
		"aws:///eu-1a/i-0123abcd": "", "noop:///default/a": "", "vsphere://4221-ab": "", "metal://ü": "",
		"noop:///default/a b": "whitespace", "noop:///default/a\n": "whitespace",
		"noop:///default/\u200ba": "control characters", "noop:///a\tb": "whitespace", "noop:///a\x1b[31m": "control characters",
		"aws://i-0123": "form of its cloud",
	} {
		got := badProviderID(id)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("badProviderID(%q) is %q, want %q", id, got, want)
		}
	}
}
