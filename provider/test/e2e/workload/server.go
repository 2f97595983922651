package workload

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	"sigs.k8s.io/cluster-api/util/certs"
)

// Host is the address of all endpoints.
const Host = "127.0.0.1"

// Server serves workload clusters, each at a port of its own.
type Server struct {
	store inmemoryruntime.Manager
	http  *http.Server
	key   *rsa.PrivateKey // of all certificates: making one takes long
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu       sync.Mutex
	reserved map[int]net.Listener
	clusters map[int]*Cluster
}

// NewServer starts a server without clusters.
func NewServer(ctx context.Context) (*Server, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		cloudv1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme,
		apiextensionsv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("starting workload clusters: %w", err)
		}
	}
	key, err := certs.NewPrivateKey()
	if err != nil {
		return nil, fmt.Errorf("starting workload clusters: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		store: inmemoryruntime.NewManager(scheme), key: key, stop: stop,
		reserved: map[int]net.Listener{}, clusters: map[int]*Cluster{},
	}
	if err := s.store.Start(running); err != nil {
		stop()
		return nil, fmt.Errorf("starting workload clusters: %w", err)
	}
	api := inmemoryapi.NewAPIServerHandler(s.store, logr.Discard(), s.group)
	etcd := inmemoryetcd.NewEtcdServerHandler(s.store, logr.Discard(), s.group)
	s.http = &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				etcd.ServeHTTP(w, r)
				return
			}
			api.ServeHTTP(w, r)
		}),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate},
		ErrorLog:  nil,
	}
	s.http.ErrorLog = discard()
	return s, nil
}

// Close ends all clusters.
func (s *Server) Close() error {
	err := s.http.Close()
	s.mu.Lock()
	for _, l := range s.reserved {
		err = errors.Join(err, l.Close())
	}
	clear(s.reserved)
	for _, c := range s.clusters {
		_ = c.listener.Close() // the server has closed it
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.stop()
	if err != nil {
		return fmt.Errorf("stopping workload clusters: %w", err)
	}
	return nil
}

// Reserve returns a port that nobody else gets. A module that is to have a workload cluster has to return it.
func (s *Server) Reserve(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(Host, "0"))
	if err != nil {
		return 0, fmt.Errorf("reserving a port for a workload cluster: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved[port] = l
	return port, nil
}

// Serve makes a workload cluster at an endpoint. Nobody gets a certificate of it before its first control plane machine.
func (s *Server) Serve(ctx context.Context, name string, at Endpoint) (*Cluster, error) {
	s.mu.Lock()
	l := s.reserved[at.Port]
	delete(s.reserved, at.Port)
	s.mu.Unlock()
	if at.Host != Host || l == nil {
		return nil, fmt.Errorf("serving the workload cluster %s: nobody reserved %s", name, at)
	}
	c := &Cluster{server: s, group: name, endpoint: at, listener: l, etcd: map[string]*tls.Certificate{}}
	s.store.AddResourceGroup(name)
	for _, ns := range []string{metav1.NamespaceDefault, metav1.NamespacePublic, metav1.NamespaceSystem} {
		if err := c.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{corev1.LabelMetadataName: ns}}}); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.clusters[at.Port] = c
	s.mu.Unlock()
	s.wg.Go(func() { _ = s.http.ServeTLS(l, "", "") }) // ends with the listener
	return c, nil
}

// group names the store of the cluster that a request is for.
func (s *Server) group(host string) (string, error) {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clusters {
		if strconv.Itoa(c.endpoint.Port) == port {
			return c.group, nil
		}
	}
	return "", fmt.Errorf("there is no workload cluster at %s", host)
}

// certificate is that of the API server, or of an etcd member, which is asked for by the name of its pod.
func (s *Server) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	address, ok := hello.Conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return nil, errors.New("the connection has no port")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[address.Port]
	if c == nil || c.api == nil {
		return nil, fmt.Errorf("no API server runs at %s", address)
	}
	if member := c.etcd[hello.ServerName]; member != nil {
		return member, nil
	}
	return c.api, nil
}
