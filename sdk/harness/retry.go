package harness

import (
	"fmt"
	"time"
)

const (
	// jobDeadline is the deadline of a Job (activeDeadlineSeconds, provider-behaviour.md B-213).
	jobDeadline = time.Hour
	// failedJobsLimit is the default of failedJobsHistoryLimit, from which on tries are 10 minutes apart (B-193).
	failedJobsLimit = 3
	firstRetry      = time.Minute
	lastRetry       = 10 * time.Minute
	// interruptedRetry is the time until a run that was interrupted from outside is started again (B-192).
	interruptedRetry = 5 * time.Second
	// maxConsequences is how often a run is really tried that fails because of
	// what a fault left. The controllers try it for ever.
	maxConsequences = 3
)

// Gates of runs that failed.
var (
	gateBackoff = Gate{
		ID: "captf/backoff", WaitsFor: "the time of the next try of a run that failed", Source: "provider-behaviour.md B-193",
	}
	gateRunFails = Gate{
		ID: "captf/run-fails", WaitsFor: "a run that succeeds, after one that a fault broke", Source: "provider-behaviour.md B-195",
		Requirement: idApply, Remedy: "what the broken run made exists, and is in no state: derive nothing from a name that only one thing can have, or let the provider adopt what it finds under that name",
	}
)

// backoff is the time until a run is tried again that failed n times in a row (B-193).
func backoff(n int) time.Duration {
	if n >= failedJobsLimit {
		return lastRetry
	}
	return min(firstRetry<<(n-1), lastRetry)
}

// tryAgain lets a run be tried again that a fault broke.
func (p *play) tryAgain(i *Infra, op Op, because FaultKind) {
	if op == OpApply {
		i.unapplied = true
	}
	wait := interruptedRetry
	if because != FaultInterrupted {
		if i.failures == nil {
			i.failures = map[Op]int{}
		}
		i.failures[op]++
		wait = backoff(i.failures[op])
	}
	if op == OpRefresh {
		p.readSoon(i, 1, p.readEvery(i))
		return
	}
	i.retry, i.retryOp = p.w.Now+wait, op
	p.hold(i.retry)
	p.eng.After(wait, func() {})
	p.tell(EventWaiting, "captf", i.Ref(), fmt.Sprintf("tries the %s again in %s", op, wait))
}

// backsOff tells that a run of the kind is not to be started yet, or no more.
func (p *play) backsOff(i *Infra, op Op) bool {
	if i.gaveUp == op {
		return true
	}
	if i.retryOp != op {
		return false
	}
	return !p.open(i, gateBackoff, func() (bool, any) { return p.w.Now >= i.retry, nil })
}
