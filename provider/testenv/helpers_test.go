package testenv_test

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/captf-toolkit/captf/provider/testenv"
)

func widgetKind(kind, version string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(version, kind)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// serve runs a webhook server for as long as the test.
func serve(t *testing.T, s testenv.Serving, path string, h http.Handler) {
	t.Helper()
	server := webhook.NewServer(webhook.Options{Host: s.Host, Port: s.Port, CertDir: s.CertDir})
	server.Register(path, h)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	deadline := time.Now().Add(10 * time.Second)
	for {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(10 * time.Millisecond)
	}
}
