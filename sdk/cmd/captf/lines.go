package main

import (
	"io"
	"sync"
)

// lines is standard error, to which several goroutines write: each write is a
// whole line, and none is cut by another.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
