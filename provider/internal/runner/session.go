package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/captf-toolkit/captf/provider/internal/broker"
	"github.com/captf-toolkit/captf/provider/internal/plan"
)

const (
	// sessionWait is how long it may take to appear: the broker's container is started before the runner's.
	sessionWait = time.Minute
	sessionPoll = 50 * time.Millisecond

	maxAnswer = 1 << 20

	// planWait is for the judgement of a large plan.
	planWait   = 2 * time.Minute
	resultWait = 30 * time.Second
	lockWait   = 30 * time.Second
	eventWait  = 2 * time.Second // B-619
	tries      = 4
)

// session is how the broker of the pod is reached.
type session struct {
	dir string

	mu  sync.Mutex
	now broker.Session
}

// awaitSession waits for the broker of the pod, within bounds.
func awaitSession(ctx context.Context, dir string) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sessionWait, fmt.Errorf("it did not appear within %s", sessionWait))
	defer cancel()
	tick := time.NewTicker(sessionPoll)
	defer tick.Stop()
	for {
		found, err := broker.ReadSession(dir)
		switch {
		case err == nil:
			if err := check(found); err != nil {
				return nil, fmt.Errorf("reading the broker's session in %s: %w", dir, err)
			}
			return &session{dir: dir, now: *found}, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the broker's session in %s: %w", dir, context.Cause(ctx))
		}
	}
}

// check refuses an address that is not on this machine: the password goes there.
func check(s *broker.Session) error {
	host, _, err := net.SplitHostPort(s.Address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return errors.New("its address is not a port on loopback")
	}
	return nil
}

// current is the session as it is now: a broker that was started again may have another port.
func (s *session) current() broker.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, err := broker.ReadSession(s.dir); err == nil && check(found) == nil {
		s.now = *found
	}
	return s.now
}

func (s *session) url(path string) string { return "http://" + s.current().Address + path }

// environment tells the runtime's http backend where the state is. Flags would be stored in the data directory and in plan
// files (B-441). A broker that is started again is waited for.
func (s *session) environment() []string {
	state := s.url("/state")
	now := s.current()
	return []string{
		"TF_HTTP_ADDRESS=" + state, "TF_HTTP_LOCK_ADDRESS=" + state, "TF_HTTP_UNLOCK_ADDRESS=" + state,
		"TF_HTTP_USERNAME=" + now.Username, "TF_HTTP_PASSWORD=" + now.Password,
		"TF_HTTP_RETRY_MAX=8", "TF_HTTP_RETRY_WAIT_MIN=1", "TF_HTTP_RETRY_WAIT_MAX=10",
	}
}

// unlockAddress has the ID of the lock: Terraform's force-unlock sends it nowhere else (B-438).
func (s *session) unlockAddress(id string) string {
	return "TF_HTTP_UNLOCK_ADDRESS=" + s.url("/state") + "?id=" + url.QueryEscape(id)
}

// statusError is an answer of the broker other than success.
type statusError struct {
	code int
	body []byte
}

func (e *statusError) Error() string {
	said := strings.TrimSpace(string(e.body[:min(len(e.body), 300)]))
	if said == "" {
		return fmt.Sprintf("the broker answered %d", e.code)
	}
	return fmt.Sprintf("the broker answered %d: %s", e.code, said)
}

var client = &http.Client{
	Transport: &http.Transport{DisableCompression: true}, // no proxy: the broker is on loopback
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the broker does not redirect")
	},
}

// call makes one request, again if the broker is being started again.
func (s *session) call(ctx context.Context, method, path string, body []byte, tries int) ([]byte, error) {
	wait := 500 * time.Millisecond
	for try := 1; ; try++ {
		answer, err := s.once(ctx, method, path, body)
		var status *statusError
		if err == nil || try >= tries || errors.As(err, &status) && status.code < http.StatusInternalServerError {
			return answer, err
		}
		select {
		case <-time.After(wait):
			wait *= 2
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (s *session) once(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url(path), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("calling the broker: %w", err)
	}
	now := s.current()
	req.SetBasicAuth(now.Username, now.Password)
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calling the broker: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the broker's answer: %w", err)
	}
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("reading the broker's answer: it has more than %d bytes", maxAnswer)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, &statusError{code: res.StatusCode, body: answer}
	}
	return answer, nil
}

// mayStart asks whether the run may begin. The answer is a statusError of 409 while its object or its Cluster is paused (B-896).
func (s *session) mayStart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	_, err := s.call(ctx, http.MethodGet, "/v1/start", nil, tries)
	return err
}

// judge lets the broker, which has the plan key, judge a plan.
func (s *session) judge(ctx context.Context, planJSON []byte) (*plan.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, planWait)
	defer cancel()
	answer, err := s.call(ctx, http.MethodPost, "/v1/plan", planJSON, tries)
	if err != nil {
		return nil, err
	}
	r := &plan.Report{}
	if err := json.Unmarshal(answer, r); err != nil || !strings.HasPrefix(r.Hash, plan.HashPrefix) {
		return nil, errors.New("the broker's answer is no judgement of a plan")
	}
	return r, nil
}

// put hands the result over.
func (s *session) put(ctx context.Context, doc []byte) error {
	ctx, cancel := context.WithTimeout(ctx, resultWait)
	defer cancel()
	_, err := s.call(ctx, http.MethodPut, "/v1/result", doc, tries)
	return err
}

// problem is why the broker refused the newest request about the state that it refused, "" if none is known.
func (s *session) problem() string {
	ctx, cancel := context.WithTimeout(context.Background(), eventWait) // the run may have been stopped
	defer cancel()
	answer, err := s.call(ctx, http.MethodGet, "/v1/problem", nil, 1)
	var said struct{ Message string }
	if err != nil || json.Unmarshal(answer, &said) != nil {
		return ""
	}
	return oneLine(said.Message)
}

// send asks for one event of the run (provider-status.md 3.10).
func (s *session) send(ctx context.Context, e broker.Event) error {
	ctx, cancel := context.WithTimeout(ctx, eventWait)
	defer cancel()
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = s.call(ctx, http.MethodPost, "/v1/event", body, 1)
	return err
}

// holder is what is read of a lock's information.
type holder struct {
	ID      string
	Who     string
	Created time.Time
}

// errNotOurs is a lock that somebody else holds.
var errNotOurs = errors.New("somebody else holds the lock of the state")

// release frees the lock that a runtime of this run left behind, because it was killed or could not reach the broker. The
// lock is this run's if it was taken here, since the run began: the host name of a pod is its own. It returns errNotOurs,
// wrapped, for any other.
func (s *session) release(ctx context.Context, host string, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	const id = "captf-runner-probe"
	probe, err := json.Marshal(map[string]any{
		"ID": id, "Operation": "OperationTypeApply", "Info": "", "Who": "runner@" + host, "Version": "", "Created": time.Now().UTC(), "Path": "",
	})
	if err != nil {
		return err
	}
	free := func(id string) error {
		body, err := json.Marshal(map[string]string{"ID": id})
		if err != nil {
			return err
		}
		_, err = s.call(ctx, "UNLOCK", "/state?id="+url.QueryEscape(id), body, tries)
		return err
	}
	_, err = s.call(ctx, "LOCK", "/state", probe, tries)
	if err == nil {
		return free(id) // nobody held it
	}
	var status *statusError
	if !errors.As(err, &status) || status.code != http.StatusLocked && status.code != http.StatusConflict {
		return err
	}
	var h holder
	if json.Unmarshal(status.body, &h) != nil || h.ID == "" {
		return fmt.Errorf("%w, and does not say who it is", errNotOurs)
	}
	_, at, _ := strings.Cut(h.Who, "@")
	if at != host || h.Created.Before(since.Add(-time.Second)) {
		return fmt.Errorf("%w: %s since %s", errNotOurs, h.Who, h.Created.Format(time.RFC3339))
	}
	return free(h.ID)
}

// hostname is this machine's, as the runtimes write it into a lock.
func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return ""
	}
	return h
}
