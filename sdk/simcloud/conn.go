package simcloud

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// Limits of one message of the plugin protocol: what comes in is values of one resource, what
// goes out may be a whole schema.
const (
	maxReceive = 64 << 20
	maxSend    = 256 << 20
)

// serveConn serves one connection to its end.
func serveConn(c net.Conn, b *brain, cloud *Cloud, owner string, clock *spent) {
	l := newOneConn(c)
	p := &provider{brain: b, cloud: cloud, owner: owner, gone: l.gone, config: b.persona.Settings}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxReceive), grpc.MaxSendMsgSize(maxSend), grpc.ChainUnaryInterceptor(clock.measure, calm), grpc.WaitForHandlers(true))
	up := health.NewServer()
	up.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, up)
	plugin := &tf6server.GRPCProviderPlugin{Name: b.schema.Source, GRPCProvider: func() tfprotov6.ProviderServer { return p }}
	if err := plugin.GRPCServer(nil, s); err != nil {
		_ = c.Close() // the runtime says that the plugin does not answer
		return
	}
	_ = s.Serve(l) // it always ends with an error: that of the closed connection
	s.Stop()
}

// Spent is real time that a server spent, summed over calls that may run side by side.
type Spent struct {
	// Schemas is what telling schemas took, Calls everything else that runtimes asked for,
	// waiting for faults included.
	Schemas, Calls time.Duration
	// Connections is how often a runtime connected: once for each configuration of a
	// provider and step.
	Connections int
}

// spent measures the calls of a server.
type spent struct {
	schemas, calls, connections atomic.Int64
}

// measure is an interceptor.
func (s *spent) measure(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	start := time.Now()
	resp, err := handler(ctx, req)
	to := &s.calls
	if strings.HasSuffix(info.FullMethod, "Schema") || strings.HasSuffix(info.FullMethod, "GetMetadata") {
		to = &s.schemas
	}
	to.Add(int64(time.Since(start)))
	return resp, err
}

// calm makes a panic over one request the error of that request.
func calm(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = status.Error(codes.Internal, fmt.Sprintf("the simulated provider cannot answer %s: %v", info.FullMethod, r))
		}
	}()
	return handler(ctx, req)
}

// oneConn is a listener that has one connection to give.
type oneConn struct {
	conn chan net.Conn
	addr net.Addr
	// gone is closed when the connection is.
	gone chan struct{}
	once sync.Once
}

func newOneConn(c net.Conn) *oneConn {
	l := &oneConn{conn: make(chan net.Conn, 1), addr: c.LocalAddr(), gone: make(chan struct{})}
	l.conn <- &watched{Conn: c, closed: l.end}
	return l
}

func (l *oneConn) end() { l.once.Do(func() { close(l.gone) }) }

// Accept implements [net.Listener].
func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	default:
	}
	<-l.gone
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (l *oneConn) Close() error {
	l.end()
	return nil
}

// Addr implements [net.Listener].
func (l *oneConn) Addr() net.Addr { return l.addr }

// watched is a connection that tells when it is closed.
type watched struct {
	net.Conn
	closed func()
}

// Close implements [net.Conn].
func (c *watched) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
