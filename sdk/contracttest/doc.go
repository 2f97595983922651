// Package contracttest is the conformance suite of the module contract for a
// module author's own Go tests. [TestModule] lints every module of a set and
// plays the lives of clusters on it, each as a subtest, as captf contract test
// does on the command line:
//
//	func TestContract(t *testing.T) {
//		contracttest.TestModule(t, contracttest.Options{Dir: "../modules", Simulate: true})
//	}
//
// It goes together with terratest, which tests what a module does by itself:
// see examples/terratest. Nothing of terratest is needed here.
//
// Not in this package: what the subtests judge (lint, sdk/harness), the verdict
// over all of them (sdk/conformance), and anything that needs a Kubernetes cluster.
package contracttest
