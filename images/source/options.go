package source

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/captf-toolkit/captf/images/ctxio"
)

// Limits of documents and structures. They hold for every image and cannot be
// raised; real images are far below them.
const (
	// MaxManifest is the limit of a manifest or an index, in bytes.
	MaxManifest = 4 << 20
	// MaxConfig is the limit of an image config, in bytes.
	MaxConfig = 4 << 20
	// MaxLayers is the limit of layers in one image.
	MaxLayers = 512
	// MaxIndexDepth is how deep indexes may be nested.
	MaxIndexDepth = 4
	// MaxPlatforms is the limit of images in one index, nested ones included.
	MaxPlatforms = 256
	// MaxRedirects is the limit of redirects that one request follows.
	MaxRedirects = 10
)

// Options say how to open an image. The zero value is usable.
type Options struct {
	// Insecure allows a registry that speaks plain HTTP. A registry on the
	// loopback interface needs no permission.
	Insecure bool
	// Keychain finds credentials; nil is NewKeychain of the environment.
	Keychain authn.Keychain
	// UserAgent is sent to registries; empty is the library's.
	UserAgent string
	// Retry bounds what is tried again.
	Retry Retry
	// Transport talks to registries; nil is one with proxies from the
	// environment and the system's certificates.
	Transport http.RoundTripper
	// MaxConfig lowers the limit of an image config, in bytes; zero is the limit
	// of the same name.
	MaxConfig int64
	// TempDir is where a blob is spooled when it has to be; empty is the
	// system's directory for temporary files.
	TempDir string
	// Progress gets a line for each step; nil is silent. Calls for one
	// source do not overlap.
	Progress func(line string)
}

// Retry bounds how requests that failed are tried again: connections that were
// refused or lost, the statuses 408, 429, 500, 502, 503 and 504, and answers that
// end early. Zero fields have the defaults named below.
type Retry struct {
	// Attempts is how often one request is sent, the first included: 4.
	Attempts int
	// Delay is the pause before the second attempt, doubled for each further
	// one: 500 ms.
	Delay time.Duration
	// MaxDelay bounds one pause, whatever a Retry-After asks for: 30 s. A longer
	// Retry-After ends the attempts.
	MaxDelay time.Duration
	// Stall is how long an answer may send nothing before it counts as lost: 60 s.
	Stall time.Duration
	// Sleep waits; nil is a real timer. Tests replace it.
	Sleep func(context.Context, time.Duration) error
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Delay <= 0 {
		r.Delay = 500 * time.Millisecond
	}
	if r.MaxDelay <= 0 {
		r.MaxDelay = 30 * time.Second
	}
	if r.Stall <= 0 {
		r.Stall = 60 * time.Second
	}
	if r.Sleep == nil {
		r.Sleep = ctxio.Sleep
	}
	return r
}

// Stats count what was read. Use Source.Stats for a copy.
type Stats struct {
	// Requests counts HTTP requests, redirects and retries included.
	Requests int64
	// Retries counts the requests that were sent again, and the streams that
	// were resumed.
	Retries int64
	// Bytes counts the bytes of manifests, configs and layers that were read.
	Bytes int64
	// LayerBytes counts those of layers alone.
	LayerBytes int64
	// Streams counts the layers that were read from their beginning.
	Streams int64
	// Ranges counts the byte ranges of layers that were read.
	Ranges int64
}

type counters struct {
	requests, retries, bytes, layerBytes, streams, ranges atomic.Int64
}

func (c *counters) snapshot() Stats {
	return Stats{
		Requests: c.requests.Load(), Retries: c.retries.Load(), Bytes: c.bytes.Load(),
		LayerBytes: c.layerBytes.Load(), Streams: c.streams.Load(), Ranges: c.ranges.Load(),
	}
}
