package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/captf-toolkit/captf/sdk/harness/engine"
)

func TestOrder(t *testing.T) {
	var e engine.Engine
	var got []string
	note := func(s string) func() { return func() { got = append(got, e.Now().String()+" "+s) } }
	release := make(chan struct{})
	e.After(2*time.Second, note("later"))
	e.Background(time.Second, func() { <-release }, note("slow work"))
	e.After(time.Second, note("same time, added after"))
	e.After(0, func() { note("first")(); close(release); e.After(time.Second, note("added by an event")) })
	for more := true; more; {
		var err error
		if more, err = e.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"0s first", "1s slow work", "1s same time, added after", "1s added by an event", "2s later"}
	if !slices.Equal(got, want) {
		t.Errorf("order is %q, want %q", got, want)
	}
}

func TestStepEndsWithItsContext(t *testing.T) {
	var e engine.Engine
	e.After(0, func() { t.Error("an event happened after the end") })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Step(ctx); err == nil {
		t.Error("the end of the context is no error")
	}
}

func TestDrainWaitsForWork(t *testing.T) {
	var e engine.Engine
	done := false
	e.Background(time.Hour, func() { done = true }, func() { t.Error("a drained event happened") })
	e.Drain()
	if !done {
		t.Error("work was left running")
	}
	if more, _ := e.Step(context.Background()); more {
		t.Error("an event is left")
	}
}
