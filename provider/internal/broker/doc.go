// Package broker is the sidecar of a Job's pod: the only container with a Kubernetes token, which it does not share. On
// loopback, behind a password that is made for the pod, it serves what the module's container needs of the cluster (design
// D5): the state of its object, as the runtimes' `http` backend wants it (B-437..B-441), the judgement of a plan with the
// plan key, events, and a place for the result.
//
// # Endpoints
//
//	GET    /healthz      no password; 200 once the rest is served
//	GET    /state        200 with the state, 404 without one, 422 if there are Secrets that hold none
//	POST   /state?ID=ID  200 stored; 412 refused: ID does not hold the lock, another lineage, a lower serial
//	LOCK   /state        200 taken, 423 with the holder's lock info
//	UNLOCK /state        200 free, or not held under that ID; 423 if it is the lock of a run that may go on. The ID is in the
//	                     body, or in ?id= where that is empty
//	GET    /v1/start     204; 409 while the object or its Cluster is paused, in which case nothing may be run
//	POST   /v1/plan      200 with plan.Report for the JSON form of a plan; 404 if the run has no plan key
//	POST   /v1/event     204; an event about the object, best effort
//	PUT    /v1/result    204 stored in the run's Secret
//	GET    /v1/problem   200 with the newest failure of /state in words, since the runtimes print its status code only; 204
//	                     if there was none
//
// Errors are text; 5xx and 429 may be repeated as they are, which every call allows, and 4xx may not. No body is larger
// than a limit, and none is logged.
//
// Not in this package: how a state is stored (provider/internal/state), what a plan is judged by (provider/internal/plan),
// and running anything (provider/internal/runner).
package broker
