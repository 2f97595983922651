// Package credentials makes ready what a Job needs before it may run: it checks whether an object may use its identity,
// keeps a copy (mirror) of the identity's Secret in the object's namespace, and keeps the ServiceAccount and RoleBinding
// of the namespace's Jobs (B-500 to B-519). What has no user any more is removed, by Release and by the Sweeper.
//
// A pass over an object with which everything is in order writes nothing and reads nothing but the cache. What is not
// watched (source Secrets, labels of Namespaces, ServiceAccounts of users) is read from the API server and remembered for
// one sync period; a Request with Live set, to be made right before a Job is created, reads all of it again. The identity
// controller reads each source Secret every five minutes, refreshes what is remembered, and brings rotated credentials to
// all mirrors, so a rotation arrives within a sync period (B-513).
//
// No value of a Secret is kept in memory, logged, or put in an error, a condition or an event.
//
// Not in this package: the identity's own status (provider/internal/controllers/identity), the pod that uses the mirror
// (provider/internal/job), admission.
package credentials
