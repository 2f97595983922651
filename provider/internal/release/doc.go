// Package release makes what a release of the provider consists of: the image of the manager and the runner, and the files
// that clusterctl reads, which name that image by its digest (provider-ops.md 2 and 8).
//
// Not in this package: the manifests (provider/config), the templates (provider/templates), signatures and bills of
// materials of the image (captf image sign, captf image sbom), and putting anything on a page of releases.
package release

//go:generate go test . -run "^Test(Templates|Compatibility)Page$" -update
