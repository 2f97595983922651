package state

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/contract"
	"github.com/captf-toolkit/captf/provider/internal/names"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/captf-toolkit/captf/provider/testenv"
	"github.com/captf-toolkit/captf/provider/testenv/tools"
)

func TestMain(m *testing.M) { os.Exit(tools.Main(m, testenv.Options{})) }

// smallPart makes states of several parts cheap.
const smallPart = 1000

// epoch is a time of tests.
var epoch = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// newStore returns a Store of its own on the shared API server, with small parts.
func newStore(t testing.TB) *Store {
	t.Helper()
	c, err := NewClient(tools.Environment(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	return &Store{Writer: c, Live: c, Clock: clock.RealClock{}, partSize: smallPart}
}

// newKey returns a state that no other test has.
func newKey(t testing.TB) Key {
	t.Helper()
	namespaceOnce.Do(func() { namespace = tools.Namespace(t) })
	if namespace == "" {
		t.Fatal("there is no namespace")
	}
	return Key{
		Namespace: namespace, Suffix: fmt.Sprintf("%016x-c", keys.Add(1)), Labels: names.StateLabels(contract.RoleCluster, "prod", "prod"),
	}
}

// newMachineKey is the key of the state of a machine, which is applied once.
func newMachineKey(t testing.TB) Key {
	t.Helper()
	k := newKey(t)
	k.Suffix, k.Labels = strings.TrimSuffix(k.Suffix, "-c")+"-m", names.StateLabels(contract.RoleMachine, "prod", "prod")
	return k
}

var (
	namespaceOnce sync.Once
	namespace     string
	keys          atomic.Uint64
)

const lineage = "11111111-2222-3333-4444-555555555555"

// document4 returns a state whose compressed form has about size bytes. What differs in the serial differs in every part.
func document4(t testing.TB, serial uint64, size int) []byte {
	t.Helper()
	noise := make([]byte, size)
	r := rand.New(rand.NewPCG(serial, uint64(size)))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	raw, err := json.Marshal(map[string]any{
		"version": 4, "terraform_version": "1.9.0", "serial": serial, "lineage": lineage,
		"outputs":   map[string]any{"noise": map[string]any{"value": base64.StdEncoding.EncodeToString(noise), "type": "string"}},
		"resources": []any{map[string]any{"mode": "managed", "type": "terraform_data", "name": "x", "instances": []any{map[string]any{}, map[string]any{}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// parts returns a state of that many small parts.
func parts(t testing.TB, serial uint64, n int) []byte {
	t.Helper()
	if n == 1 {
		return document4(t, serial, 100)
	}
	return document4(t, serial, (n-1)*smallPart+100)
}

func mustWrite(t testing.TB, s *Store, k Key, raw []byte) {
	t.Helper()
	if _, err := s.Write(t.Context(), k, raw, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, s *Store, k Key) *State {
	t.Helper()
	st, err := s.Read(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

var errCrash = errors.New("crashed")

// crash is a client that dies at a write: everything from then on fails. If after is set the write itself still happens,
// and only its answer is lost.
type crash struct {
	client.Writer
	at    int
	after bool
	n     int
}

func (c *crash) do(write func() error) error {
	c.n++
	if c.n < c.at {
		return write()
	}
	if c.n == c.at && c.after {
		if err := write(); err != nil {
			return err
		}
	}
	return errCrash
}

func (c *crash) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.do(func() error { return c.Writer.Create(ctx, o, opts...) })
}

func (c *crash) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.do(func() error { return c.Writer.Update(ctx, o, opts...) })
}

func (c *crash) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.do(func() error { return c.Writer.Delete(ctx, o, opts...) })
}

// pause is a client that lets something else happen before a write.
type pause struct {
	client.Writer
	at   int
	what func()
	n    int
}

func (p *pause) turn() {
	if p.n++; p.n == p.at {
		p.what()
	}
}

func (p *pause) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	p.turn()
	return p.Writer.Create(ctx, o, opts...)
}

func (p *pause) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	p.turn()
	return p.Writer.Update(ctx, o, opts...)
}

func (p *pause) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	p.turn()
	return p.Writer.Delete(ctx, o, opts...)
}
