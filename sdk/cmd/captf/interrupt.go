package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted by a signal")

// interrupts turns signals into what a long run needs: the first one ends a
// context, so that the run stops and cleans up; the second one ends everything
// at once.
type interrupts struct {
	ctx context.Context //nolint:containedctx // it is what this type makes
	// force is closed by the second signal.
	force chan struct{}

	cancel context.CancelCauseFunc
	done   chan struct{}
	wg     sync.WaitGroup
}

// notifySignals lets interrupts go to a channel. The end of the terminal is one
// too, unless nohup asked for the opposite. A reader that goes away is none:
// without a handler a write to standard output or error would end the process
// in the middle of a run, so such writes shall just fail.
func notifySignals(c chan<- os.Signal) (stop func()) {
	interrupts := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		interrupts = append(interrupts, syscall.SIGHUP)
	}
	signal.Notify(c, interrupts...)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return func() {
		signal.Stop(c)
		signal.Stop(pipes)
	}
}

// watchInterrupts starts watching. told is called with 1 and 2 for the first and
// the second signal. The parent's own end does not count: the command's context
// ends with the first signal too, and cannot tell of the second.
func watchInterrupts(parent context.Context, told func(n int)) *interrupts {
	i := &interrupts{force: make(chan struct{}), done: make(chan struct{})}
	i.ctx, i.cancel = context.WithCancelCause(context.WithoutCancel(parent))
	signals := make(chan os.Signal, 2)
	stop := notifySignals(signals)
	i.wg.Go(func() {
		defer stop()
		for n := 1; ; n++ {
			select {
			case <-i.done:
				return
			case <-signals:
			}
			switch n {
			case 1:
				told(n)
				i.cancel(errInterrupted)
			case 2:
				close(i.force) // before it is told, so that nothing else is begun and told
				told(n)
			}
		}
	})
	return i
}

// stop ends the watching.
func (i *interrupts) stop() {
	close(i.done)
	i.wg.Wait()
	i.cancel(nil)
}
