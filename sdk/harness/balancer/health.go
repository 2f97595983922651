package balancer

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Check is one health check as a plan or state shows it.
type Check struct {
	// Address is that of the resource.
	Address string
	// Listener is whose backends it checks, by its port; "" when it does not tell.
	Listener Listener
	// Protocol is TCP, TLS, HTTP or HTTPS as the cloud writes it, in capitals; "" when it does not tell.
	Protocol string
	// Path and Codes are the HTTP path and the codes that count as healthy, "" without.
	Path, Codes string
	// Window is how long it takes to see a change; zero where the attributes do not tell.
	Window Window
	// Why says how the window was found.
	Why string
}

// Checks returns the recognised health checks.
func Checks(resources []Resource) []Check {
	var out []Check
	for _, r := range resources {
		t := TypeOf(r.Type)
		if t == nil || t.Health == nil {
			continue
		}
		out = append(out, checkOf(r, t.Health))
	}
	return out
}

func checkOf(r Resource, h *HealthCheck) Check {
	c := Check{Address: r.Address, Protocol: strings.ToUpper(textAt(r.Values, h.Protocol)), Path: textAt(r.Values, h.Path), Codes: textAt(r.Values, h.Codes)}
	var block any = r.Values
	for _, name := range sortedNames(h.Protocols) {
		if blocks := at(r.Values, name); len(blocks) > 0 {
			block, c.Protocol = blocks[0], h.Protocols[name]
			c.Path = textAt(block, h.Path)
		}
	}
	port, ok := intAt(block, h.Port)
	if !ok && h.Own != "" {
		port, ok = intAt(r.Values, h.Own)
	}
	switch name := strings.ToLower(r.Address); {
	case ok && port == supervisorPort, strings.Contains(name, "supervisor"), strings.Contains(name, "9345"):
		c.Listener = ListenerSupervisor
	case ok && port > 0, strings.Contains(name, "apiserver"):
		c.Listener = ListenerAPI
	}
	interval, set := intAt(r.Values, h.Interval)
	if h.Milliseconds {
		interval /= 1000
	}
	if !set {
		interval = h.DefaultInterval
	}
	healthy, unhealthy := number(r.Values, h.Healthy, h.DefaultHealthy), number(r.Values, h.Unhealthy, h.DefaultUnhealthy)
	if interval > 0 && healthy > 0 && unhealthy > 0 {
		c.Window = Window{Healthy: time.Duration(interval*healthy) * time.Second, Unhealthy: time.Duration(interval*unhealthy) * time.Second}
		c.Why = fmt.Sprintf("%s checks every %d s, %d times until healthy and %d times until unhealthy", r.Address, interval, healthy, unhealthy)
	}
	return c
}

func number(values any, path string, otherwise int) int {
	if n, ok := intAt(values, path); ok && n > 0 {
		return n
	}
	return otherwise
}

func sortedNames(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Slow says why a check takes longer than control-planes.md 5 allows; "" when it does not.
func (c Check) Slow() string {
	var parts []string
	if c.Window.Healthy > DefaultHealthy {
		parts = append(parts, fmt.Sprintf("a healthy backend is found only after %s", c.Window.Healthy))
	}
	if c.Window.Unhealthy > DefaultUnhealthy {
		parts = append(parts, fmt.Sprintf("a dead one only after %s", c.Window.Unhealthy))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", and ") + ": " + c.Why
}

// WrongForAPI says why an API server does not pass the check; "" when nothing is
// known against it (control-planes.md 5).
func (c Check) WrongForAPI() string {
	if c.Protocol == "HTTP" {
		return "it speaks HTTP without TLS, which API servers do not answer"
	}
	if c.Protocol == "HTTPS" && c.Path != "" && !slices.Contains([]string{"/readyz", "/healthz", "/livez"}, strings.TrimSuffix(c.Path, "/")) {
		return fmt.Sprintf("it asks for %s, which API servers answer only to clients that have logged in; /readyz, /healthz and /livez are open", c.Path)
	}
	return ""
}

// WrongForSupervisor says why RKE2's supervisor does not pass the check; "" when it
// does (control-planes.md 5).
func (c Check) WrongForSupervisor() string {
	switch {
	case c.Protocol == "HTTP":
		return "it speaks HTTP without TLS"
	case c.Protocol == "HTTPS" && !strings.Contains(c.Codes, "403"):
		return fmt.Sprintf("it expects the code %q, and a supervisor answers 403 to a client without a certificate", c.Codes)
	}
	return ""
}
