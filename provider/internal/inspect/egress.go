package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/captf-toolkit/captf/images/source"
)

// errPolicy is the kind of what the egress policy refuses.
var errPolicy = errors.New("refused by the egress policy")

// errRefused is how a connection is refused: as an error of images/source, because that keeps no others.
var errRefused = &source.Error{Kind: errPolicy, Msg: errPolicy.Error()}

// Egress says which registries may be read and which addresses may be connected to.
type Egress struct {
	// Registries are the registries that may be read, as host or host:port; * stands for one label of a name, such as
	// *.example.com. Empty allows every one. It is about the registry of a reference: the token servers and the storage
	// that a registry sends to have other names, and are bound by their address only.
	Registries []string
	// Networks are those whose addresses may be connected to although they are not public, such as 10.0.0.0/8.
	Networks []netip.Prefix
	// Proxy returns the proxy of a request; nil is that of the environment. What goes through a proxy is bound by it: the
	// manager does not know the address then, and only refuses what is no public address by its text.
	Proxy func(*http.Request) (*url.URL, error)
}

// ParseEgress reads the values of the flags --image-inspect-allowed-registries and --image-inspect-allowed-networks.
func ParseEgress(registries, networks []string) (Egress, error) {
	e := Egress{}
	for _, registry := range registries {
		host := strings.ToLower(registry)
		if _, err := path.Match(host, ""); err != nil || host == "" || strings.ContainsAny(host, "/@ ") {
			return Egress{}, fmt.Errorf("%q is no registry: write host or host:port, * for one label of the name", registry)
		}
		e.Registries = append(e.Registries, host)
	}
	for _, network := range networks {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return Egress{}, fmt.Errorf("%q is no network: write it as 10.0.0.0/8", network)
		}
		e.Networks = append(e.Networks, prefix.Masked())
	}
	return e, nil
}

// allowsRegistry tells whether a registry may be read.
func (e Egress) allowsRegistry(host string) bool {
	if len(e.Registries) == 0 {
		return true
	}
	labels := strings.Split(strings.ToLower(host), ".")
	return slices.ContainsFunc(e.Registries, func(pattern string) bool {
		parts := strings.Split(pattern, ".")
		if len(parts) != len(labels) {
			return false
		}
		for i := range parts {
			if ok, err := path.Match(parts[i], labels[i]); err != nil || !ok {
				return false
			}
		}
		return true
	})
}

// allowsAddress tells whether an address may be connected to.
func (e Egress) allowsAddress(ip netip.Addr) bool {
	ip = ip.WithZone("").Unmap()
	return slices.ContainsFunc(e.Networks, func(p netip.Prefix) bool { return p.Contains(ip) }) || public(ip)
}

// special are the networks that are not public (the registries of special-purpose addresses of RFC 6890). Those that carry
// an IPv4 address inside are among them: who needs one names it.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func public(ip netip.Addr) bool {
	return ip.IsValid() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// control refuses an address when a connection to it is about to be made, so that a name cannot mean another one then.
func (e Egress) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !e.allowsAddress(at.Addr()) {
		return errRefused
	}
	return nil
}

// transport talks to registries within the policy.
type transport struct {
	egress  Egress
	proxy   func(*http.Request) (*url.URL, error)
	direct  *http.Transport
	proxied *http.Transport
}

func newTransport(e Egress) *transport {
	proxy := e.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return &transport{egress: e, proxy: proxy, direct: e.base(e.control, nil), proxied: e.base(nil, proxy)}
}

func (e Egress) base(control func(context.Context, string, string, syscall.RawConn) error, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, ControlContext: control}
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  15 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true, // The digest of a blob is that of the bytes as they are.
	}
}

// RoundTrip implements http.RoundTripper. It sees every request: redirects and token servers too.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	via, err := t.proxy(req)
	if err != nil {
		return nil, fmt.Errorf("choosing a proxy: %w", err)
	}
	if via == nil {
		return t.direct.RoundTrip(req)
	}
	host := strings.TrimSuffix(strings.ToLower(req.URL.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil && !t.egress.allowsAddress(ip) || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return nil, errRefused
	}
	return t.proxied.RoundTrip(req)
}
