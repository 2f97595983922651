package credentials

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// memory remembers what was read, and when.
type memory[K comparable, V any] struct {
	clock clock.PassiveClock
	mu    *sync.Mutex
	items map[K]remembered[V]
}

type remembered[V any] struct {
	value V
	at    time.Time
}

func newMemory[K comparable, V any](c clock.PassiveClock) memory[K, V] {
	return memory[K, V]{clock: c, mu: &sync.Mutex{}, items: map[K]remembered[V]{}}
}

// get returns what was read at most age ago.
func (m memory[K, V]) get(key K, age time.Duration) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	if !ok || m.clock.Since(item.at) >= age {
		var none V
		return none, false
	}
	return item.value, true
}

// age returns how long ago the key was read.
func (m memory[K, V]) age(key K) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	item, ok := m.items[key]
	return m.clock.Since(item.at), ok
}

// put remembers a value that was read at the time at, unless a newer one is known.
func (m memory[K, V]) put(key K, value V, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item, ok := m.items[key]; ok && item.at.After(at) {
		return
	}
	m.items[key] = remembered[V]{value: value, at: at}
}

// forget drops what was read longer than age ago.
func (m memory[K, V]) forget(age time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, item := range m.items {
		if m.clock.Since(item.at) >= age {
			delete(m.items, key)
		}
	}
}

// use is what an object was last seen to use, since the manager started.
type use struct {
	serviceAccount string
	mirror         string
}

// users remember by namespace and UID what objects use, so that the other objects of a namespace have to be looked at only
// when something changes.
type users struct {
	mu   sync.Mutex
	seen map[string]map[types.UID]use
}

func (u *users) get(namespace string, uid types.UID) use {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[namespace][uid]
}

func (u *users) update(namespace string, uid types.UID, change func(*use)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen == nil {
		u.seen = map[string]map[types.UID]use{}
	}
	if u.seen[namespace] == nil {
		u.seen[namespace] = map[types.UID]use{}
	}
	now := u.seen[namespace][uid]
	change(&now)
	u.seen[namespace][uid] = now
}

func (u *users) forget(namespace string, uid types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.seen[namespace], uid)
	if len(u.seen[namespace]) == 0 {
		delete(u.seen, namespace)
	}
}

// keep forgets the objects of a namespace that do not exist.
func (u *users) keep(namespace string, exists map[types.UID]bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for uid := range u.seen[namespace] {
		if !exists[uid] {
			delete(u.seen[namespace], uid)
		}
	}
	if len(u.seen[namespace]) == 0 {
		delete(u.seen, namespace)
	}
}
