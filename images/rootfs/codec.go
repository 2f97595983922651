package rootfs

import (
	"encoding/binary"
	"errors"
)

// encoder writes numbers and texts one after the other.
type encoder struct{ buf []byte }

func (e *encoder) int(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

func (e *encoder) flag(b bool) {
	if b {
		e.int(1)
	} else {
		e.int(0)
	}
}

func (e *encoder) text(s string) {
	e.int(int64(len(s)))
	e.buf = append(e.buf, s...)
}

// decoder reads what an encoder wrote. After an error everything is zero.
type decoder struct {
	rest []byte
	err  error
}

var errEncoding = errors.New("not a valid encoding")

func (d *decoder) int() int64 {
	if d.err != nil {
		return 0
	}
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.err = errEncoding
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) flag() bool { return d.int() == 1 }

// count is a number of things that follow, each of at least one byte.
func (d *decoder) count() int64 {
	n := d.int()
	if n < 0 || n > int64(len(d.rest)) {
		d.err = errEncoding
		return 0
	}
	return n
}

func (d *decoder) text() string {
	n := d.count()
	if d.err != nil {
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}
