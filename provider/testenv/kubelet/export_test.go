package kubelet

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Advance makes the tokens of a pod so much older.
func (k *Kubelet) Advance(pod types.NamespacedName, d time.Duration) {
	w, err := k.find(pod)
	if err != nil {
		panic(err)
	}
	for _, v := range w.volumes {
		v.mu.Lock()
		for path, t := range v.tokens {
			t.refresh = t.refresh.Add(-d)
			v.tokens[path] = t
		}
		v.mu.Unlock()
	}
}
