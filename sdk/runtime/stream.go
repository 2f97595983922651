package runtime

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// maxLine is the longest line of output that is kept, in bytes. The rest of a longer
// one is read and dropped. The longest that runtimes print on purpose is a state that they
// can store nowhere.
const maxLine = 16 << 20

// line is one line of output without its end.
type line struct {
	text []byte
	// cut is set if the line was longer than the limit.
	cut bool
}

// readLines calls fn for each line of r until its end or an error, with at most
// limit bytes of each. The text is only valid during the call.
func readLines(r io.Reader, limit int, fn func(line)) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	cut := false
	for {
		chunk, err := br.ReadSlice('\n')
		if room := limit - len(buf); len(chunk) > room {
			// The end of the line is no reason to call it cut.
			cut = cut || len(bytes.TrimRight(chunk, "\r\n")) > room
			buf = append(buf, chunk[:room]...)
		} else {
			buf = append(buf, chunk...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(buf) > 0 || err == nil {
			fn(line{text: bytes.TrimRight(buf, "\r\n"), cut: cut})
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if cap(buf) > 1<<20 {
			buf = nil // one huge line must not stay in memory for the whole run
		}
		buf, cut = buf[:0], false
	}
}

// tail keeps the last lines of a text within a limit of bytes.
type tail struct {
	limit int
	size  int
	lines []string
}

func newTail(limit int) *tail { return &tail{limit: limit} }

func (t *tail) add(text []byte) {
	if len(text) > t.limit {
		text = text[len(text)-t.limit:]
	}
	t.lines = append(t.lines, string(text))
	t.size += len(text) + 1
	for t.size > t.limit && len(t.lines) > 1 {
		t.size -= len(t.lines[0]) + 1
		t.lines = t.lines[1:]
	}
}

// String is the kept text, without colours and cleaned of bytes that are not UTF-8.
func (t *tail) String() string {
	return strings.ToValidUTF8(stripANSI(strings.Join(t.lines, "\n")), "�")
}
