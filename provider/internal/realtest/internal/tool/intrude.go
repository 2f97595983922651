package main

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// targets are what the module was told about the cluster: an intruder knows all names and addresses, only no secrets.
type targets struct {
	// API is the address of the API server, Namespace that of the run.
	API, Namespace string
	// OwnSecret is the Secret with the state of the run's object, OtherSecret that of another object; OtherSuffix is the
	// end of its name, OtherBroker the address of a broker of another pod that runs now.
	OwnSecret, OtherSecret, OtherSuffix, OtherBroker string
}

// intruder tries things. Each is one line: its name, then what came of it.
type intruder struct {
	targets
	out     io.Writer
	client  http.Client
	session struct{ Address, Username, Password string }
}

func intrude(out io.Writer) {
	i := &intruder{out: out, client: http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // an intruder does not care
	}}}
	if err := json.Unmarshal([]byte(os.Getenv("TARGETS")), &i.targets); err != nil {
		i.say("targets", "unreadable: "+err.Error())
		return
	}
	i.environment()
	i.files()
	i.readSession()
	i.apiServer()
	i.brokers()
	i.say("intruder", "done")
}

func (i *intruder) say(attempt, outcome string) {
	fmt.Fprintf(i.out, "intruder[%s] %s\n", attempt, strings.ReplaceAll(outcome, "\n", " "))
}

// tokens look like those of service accounts.
var tokens = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)

func (i *intruder) environment() {
	found := "none"
	for _, e := range os.Environ() {
		if tokens.MatchString(e) {
			found = "OBTAINED a token in a variable"
		}
	}
	i.say("env", found)
	// Processes that this container can see, with their environments and roots.
	found = "none"
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err == nil && (tokens.Match(raw) || bytes.Contains(raw, []byte("POD_UID="))) {
			found = "OBTAINED the environment of another container"
		}
	}
	roots, _ := filepath.Glob("/proc/[0-9]*/root/var/run/secrets/kubernetes.io")
	if len(roots) > 0 {
		found = "OBTAINED " + roots[0]
	}
	i.say("processes", found)
}

// files reads everything that can be read.
func (i *intruder) files() {
	if entries, err := os.ReadDir("/var/run/secrets"); err != nil {
		i.say("secrets directory", "none")
	} else {
		i.say("secrets directory", fmt.Sprintf("OBTAINED %d entries", len(entries)))
	}
	found, read := "none", 0
	_ = filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read
		}
		if d.IsDir() && (p == "/proc" || p == "/sys" || p == "/dev") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 4<<20 {
			return nil //nolint:nilerr // what cannot be read
		}
		raw, err := os.ReadFile(p) //nolint:gosec // an intruder reads whatever it can
		if err != nil {
			return nil //nolint:nilerr // what cannot be read
		}
		read++
		if tokens.Match(raw) {
			found = "OBTAINED a token in " + p
		}
		return nil
	})
	if read < 10 {
		found = fmt.Sprintf("unsure: it read %d files", read)
	}
	i.say("filesystem", found)
	if err := os.WriteFile("/captf/broker/session.json", []byte("{}"), 0o600); err == nil {
		i.say("session overwrite", "OBTAINED")
	} else {
		i.say("session overwrite", "refused")
	}
}

// readSession reads what the runner reads, too: the password of this pod's broker. It is a module's to use.
func (i *intruder) readSession() {
	raw, err := os.ReadFile("/captf/broker/session.json")
	if err == nil {
		err = json.Unmarshal(raw, &i.session)
	}
	if err != nil {
		i.say("own session", "unreadable: "+err.Error())
		return
	}
	i.say("own session", "read")
}

// request tells the status of an answer.
func (i *intruder) request(method, url string, set func(*http.Request)) string {
	q, err := http.NewRequest(method, url, http.NoBody) //nolint:noctx // the client has a timeout
	if err != nil {
		return err.Error()
	}
	if set != nil {
		set(q)
	}
	a, err := i.client.Do(q)
	if err != nil {
		return "no answer: " + err.Error()
	}
	defer a.Body.Close()
	if a.StatusCode < 300 {
		return fmt.Sprintf("OBTAINED %d", a.StatusCode)
	}
	return fmt.Sprintf("refused %d", a.StatusCode)
}

func bearer(token string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+token) }
}

func (i *intruder) apiServer() {
	secrets := i.API + "/api/v1/namespaces/" + i.Namespace + "/secrets"
	encode := base64.RawURLEncoding.EncodeToString
	user := "system:serviceaccount:" + i.Namespace + ":captf-runner"
	forged := encode([]byte(`{"alg":"none"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":%q,"exp":9999999999}`, user)) + "."
	for name, set := range map[string]func(*http.Request){
		"anonymous": nil, "word": bearer("captf-runner"), "forged": bearer(forged), "session": bearer(i.session.Password),
		"impersonation": func(q *http.Request) { q.Header.Set("Impersonate-User", user) },
		"basic":         func(q *http.Request) { q.SetBasicAuth(i.session.Username, i.session.Password) },
	} {
		i.say("api "+name+" list", i.request(http.MethodGet, secrets, set))
		i.say("api "+name+" own state", i.request(http.MethodGet, secrets+"/"+i.OwnSecret, set))
		i.say("api "+name+" other state", i.request(http.MethodGet, secrets+"/"+i.OtherSecret, set))
	}
}

func (i *intruder) brokers() {
	own, other := "http://"+i.session.Address, "http://"+i.OtherBroker
	password := func(q *http.Request) { q.SetBasicAuth(i.session.Username, i.session.Password) }
	for _, method := range []string{http.MethodGet, http.MethodPost, "LOCK", "UNLOCK"} {
		i.say("broker "+method+" without password", i.request(method, own+"/state", nil))
		i.say("broker "+method+" of another pod", i.request(method, other+"/state", password))
	}
	i.say("broker result without password", i.request(http.MethodPut, own+"/v1/result", nil))
	i.say("broker wrong password", i.request(http.MethodGet, own+"/state", func(q *http.Request) { q.SetBasicAuth("captf", "captf") }))
	// With the password, which is a module's: only the state of its own object is there.
	for _, path := range []string{"/state/" + i.OtherSuffix, "/" + i.OtherSecret, "/state/../" + i.OtherSecret, "/v1/state/" + i.OtherSuffix, "/api/v1/secrets"} {
		i.say("broker other address "+path, i.request(http.MethodGet, own+path, password))
	}
	// A state of our own, whatever is asked for beside it.
	q, err := http.NewRequest(http.MethodGet, own+"/state?suffix="+i.OtherSuffix+"&namespace=kube-system", http.NoBody) //nolint:noctx // the client has a timeout
	if err != nil {
		return
	}
	password(q)
	a, err := i.client.Do(q)
	if err != nil {
		i.say("broker other query", "no answer: "+err.Error())
		return
	}
	defer a.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(a.Body, 4<<20))
	switch {
	case bytes.Contains(raw, []byte("marker-of-another-object")):
		i.say("broker other query", "OBTAINED another object's state")
	default:
		i.say("broker other query", fmt.Sprintf("own state only, %d", a.StatusCode))
	}
}
