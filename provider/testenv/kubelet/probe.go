package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probe runs the probes of a container: the startup probe alone until it succeeds, and then the others. The result
// gets why the container is to be restarted.
func (w *worker) probe(ctx context.Context, c *container, started func()) <-chan string {
	unhealthy := make(chan string, 1)
	after := func() {
		go w.repeat(ctx, c.spec.ReadinessProbe, c, func(ok bool, _ string) bool {
			w.change(func() { c.ready = ok && c.state.Running != nil })
			return true
		})
		go w.repeat(ctx, c.spec.LivenessProbe, c, func(ok bool, why string) bool {
			if !ok {
				unhealthy <- "Liveness probe failed: " + why
			}
			return ok
		})
	}
	if c.spec.StartupProbe == nil {
		after()
		return unhealthy
	}
	go w.repeat(ctx, c.spec.StartupProbe, c, func(ok bool, why string) bool {
		if !ok {
			unhealthy <- "Startup probe failed: " + why
			return false
		}
		w.change(func() { c.started, c.ready = true, c.spec.ReadinessProbe == nil })
		started()
		after()
		return false
	})
	return unhealthy
}

// repeat tells of a probe's result when it has been the same often enough, until that returns false.
func (w *worker) repeat(ctx context.Context, p *corev1.Probe, c *container, result func(ok bool, why string) bool) {
	if p == nil {
		return
	}
	pause(ctx, time.Duration(p.InitialDelaySeconds)*time.Second)
	var succeeded, failed int32
	for ctx.Err() == nil {
		err := w.try(ctx, p, c)
		if ctx.Err() != nil {
			return
		}
		goOn := true
		if err == nil {
			succeeded, failed = succeeded+1, 0
			if succeeded >= max(p.SuccessThreshold, 1) {
				goOn = result(true, "")
			}
		} else {
			succeeded, failed = 0, failed+1
			if failed >= max(p.FailureThreshold, 1) {
				goOn = result(false, err.Error())
			}
		}
		if !goOn {
			return
		}
		pause(ctx, time.Duration(max(p.PeriodSeconds, 1))*time.Second)
	}
}

func (w *worker) try(ctx context.Context, p *corev1.Probe, c *container) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(p.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	if p.TCPSocket != nil {
		address, err := addressOf(c.spec, p.TCPSocket.Host, p.TCPSocket.Port)
		if err != nil {
			return err
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return get(ctx, c.spec, p.HTTPGet)
}

func get(ctx context.Context, c *corev1.Container, g *corev1.HTTPGetAction) error {
	address, err := addressOf(c, g.Host, g.Port)
	if err != nil {
		return err
	}
	scheme := strings.ToLower(cmp.Or(string(g.Scheme), "http"))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+"/"+strings.TrimPrefix(g.Path, "/"), http.NoBody)
	if err != nil {
		return err
	}
	for _, h := range g.HTTPHeaders {
		r.Header.Add(h.Name, h.Value)
	}
	// Kubelets do not check certificates either.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: insecure(), DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", answer.StatusCode)
	}
	return nil
}

func addressOf(c *corev1.Container, host string, port intstr.IntOrString) (string, error) {
	text := port.String()
	if port.Type == intstr.String {
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				text = fmt.Sprint(p.ContainerPort)
			}
		}
		if text == port.StrVal {
			return "", fmt.Errorf("there is no port %q", port.StrVal)
		}
	}
	return net.JoinHostPort(cmp.Or(host, loopback), text), nil
}

// preStop runs the hook before a container's end, within its time.
func (w *worker) preStop(ctx context.Context, c *container) {
	if c.spec.Lifecycle == nil || c.spec.Lifecycle.PreStop == nil {
		return
	}
	switch hook := c.spec.Lifecycle.PreStop; {
	case hook.Sleep != nil:
		pause(ctx, time.Duration(hook.Sleep.Seconds)*time.Second)
	case hook.HTTPGet != nil:
		if err := get(ctx, c.spec, hook.HTTPGet); err != nil {
			w.warn("FailedPreStopHook", "PreStopHook failed: %v", err)
		}
	}
}

// termination is the signal that asks a container to end.
func termination(c *corev1.Container) syscall.Signal {
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		for _, s := range []struct {
			name corev1.Signal
			sig  syscall.Signal
		}{{"SIGINT", syscall.SIGINT}, {"SIGQUIT", syscall.SIGQUIT}, {"SIGHUP", syscall.SIGHUP}, {"SIGUSR1", syscall.SIGUSR1}, {"SIGUSR2", syscall.SIGUSR2}, {"SIGKILL", syscall.SIGKILL}} {
			if *c.Lifecycle.StopSignal == s.name {
				return s.sig
			}
		}
	}
	return syscall.SIGTERM
}
