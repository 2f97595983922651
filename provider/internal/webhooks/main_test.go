package webhooks_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/captf-toolkit/captf/provider/api/v1alpha1"
	"github.com/captf-toolkit/captf/provider/internal/webhooks"
	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

// manager is the user name of the manager in the cases.
const manager = "system:serviceaccount:captf-system:captf-controller-manager"

// fixture is a user whose requests our webhooks let pass, for what a case finds in the API server. The schema holds for
// fixtures too.
const fixture = "fixture"

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

// server starts what the tests share and returns the configuration of its administrator.
func server(t *testing.T) *rest.Config {
	t.Helper()
	env := tools.Environment(t)
	once.Do(func() { startErr = start(env) })
	if startErr != nil {
		t.Fatal(startErr)
	}
	return env.Config()
}

var (
	once     sync.Once
	startErr error
	// mapper is shared by all clients, because each would ask the API server for all its kinds.
	mapper meta.RESTMapper
)

func start(env *testenv.Environment) error {
	ctx := context.Background()
	clusterAPI, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return fmt.Errorf("finding the CRDs of Cluster API: %w", err)
	}
	err = env.InstallCRDs(ctx, testenv.CRDs{Paths: []string{
		"../../config/crd/bases", filepath.Join(strings.TrimSpace(string(clusterAPI)), "core/config/crd/bases"),
	}})
	if err != nil {
		return err
	}
	serving, err := env.InstallWebhooks(ctx, testenv.Webhooks{Paths: []string{"../../config/webhook/manifests.yaml"}})
	if err != nil {
		return err
	}
	ctrllog.SetLogger(logr.Discard())
	kube, err := client.New(env.Config(), client.Options{Scheme: scheme()})
	if err != nil {
		return err
	}
	mapper = kube.RESTMapper()
	hooks := webhook.NewServer(webhook.Options{Host: serving.Host, Port: serving.Port, CertDir: serving.CertDir})
	err = webhooks.Register(passFixtures{hooks}, webhooks.Options{
		Scheme: scheme(), Client: kube, Live: kube, Schemas: schemas{}, Manager: manager,
	})
	if err != nil {
		return err
	}
	go func() {
		if err := hooks.Start(ctx); err != nil {
			panic(err)
		}
	}()
	for { // the server says by nothing else that it listens
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(serving.Host, strconv.Itoa(serving.Port)))
		if err == nil {
			return conn.Close()
		}
		<-time.After(10 * time.Millisecond)
	}
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// passFixtures registers webhooks that do not look at requests of the user fixture.
type passFixtures struct{ webhook.Server }

func (s passFixtures) Register(path string, hook http.Handler) {
	h := hook.(*admission.Webhook)
	real := h.Handler
	h.Handler = admission.HandlerFunc(func(ctx context.Context, r admission.Request) admission.Response {
		if r.UserInfo.Username == fixture {
			return admission.Allowed("")
		}
		return real.Handle(ctx, r)
	})
	s.Server.Register(path, h)
}
