package rootfs

import "io"

// budget counts what is kept in memory.
type budget struct {
	limit, used, peak int64
	// evict frees something; it says whether it did.
	evict func() bool
}

func (b *budget) charge(where string, n int64) error {
	for b.used+n > b.limit {
		if b.evict == nil || !b.evict() {
			return &LimitError{Where: where, What: "its headers and the files that are kept take", Limit: b.limit}
		}
	}
	b.used += n
	b.peak = max(b.peak, b.used)
	return nil
}

func (b *budget) release(n int64) { b.used -= n }

// meter counts what layers unpack to.
type meter struct{ limit, used int64 }

// meterReader fails when the meter is full.
type meterReader struct {
	r     io.Reader
	m     *meter
	where string
}

// Read implements io.Reader.
func (m *meterReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.m.used += int64(n)
	if m.m.used > m.m.limit {
		return 0, &LimitError{Where: m.where, What: "with the layers below it, it unpacks to", Limit: m.m.limit}
	}
	return n, err
}
