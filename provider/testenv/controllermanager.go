package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// stopTimeout is how long kube-controller-manager may take to end when it is asked to.
const stopTimeout = 5 * time.Second

// controllerManager is the running kube-controller-manager.
type controllerManager struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

func startControllerManager(ctx context.Context, e *Environment, script string, log *os.File, o Options) (*controllerManager, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	// It lives longer than the context of its start.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), script,
		"--kubeconfig="+e.KubeconfigFile(), "--authentication-skip-lookup",
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--cert-dir="+filepath.Join(e.dir, "certs", "manager"),
		"--leader-elect=false", "--use-service-account-credentials=false",
		"--service-account-private-key-file="+filepath.Join(e.dir, "certs", "sa-signer.key"),
		"--root-ca-file="+e.CAFile(), "--controllers="+strings.Join(o.Controllers, ","),
		// The API server is here for tests; what the manager asks of it is no reason to be slow.
		"--kube-api-qps=1000", "--kube-api-burst=2000")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for the tests, which stop it
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", ControllerManager, err)
	}
	m := &controllerManager{cmd: cmd, ended: make(chan struct{})}
	go func() {
		m.err = cmd.Wait()
		close(m.ended)
	}()
	if err := m.wait(ctx, port, o.StartTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w%s", ControllerManager, err, tail(e.dir, ControllerManager)), m.stop())
	}
	return m, nil
}

// wait returns when it is healthy, which it is as soon as its controllers were started.
func (m *controllerManager) wait(ctx context.Context, port int, timeout time.Duration) error {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: insecure(), DisableKeepAlives: true}, Timeout: 2 * time.Second}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-m.ended:
			return false, fmt.Errorf("it ended: %w", m.err)
		default:
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/healthz", port), http.NoBody)
		if err != nil {
			return false, err
		}
		answer, err := client.Do(r)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
}

// stop ends it. That it exits with an error then is of no interest.
func (m *controllerManager) stop() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", ControllerManager, err)
	}
	select {
	case <-m.ended:
		return nil
	case <-time.After(stopTimeout):
	}
	if err := m.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", ControllerManager, err)
	}
	<-m.ended
	return nil
}

// freePort is a port that nobody has now.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
