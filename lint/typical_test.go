package lint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

// TestControlPlaneChecksAreSilent holds the checks that know types of resources to
// what people write rightly: the parts of modules for five clouds that are about the
// control plane, the no-op modules and the examples. A directory's name is its role.
func TestControlPlaneChecksAreSilent(t *testing.T) {
	for _, tree := range []struct {
		dir string
		min int
	}{{"testdata/typical", 10}, {"../modules", 3}, {"../examples", 3}} {
		found := 0
		err := filepath.WalkDir(tree.dir, func(path string, d fs.DirEntry, err error) error {
			role, notRole := contract.ParseRole(filepath.Base(path))
			if err != nil || !d.IsDir() || notRole != nil {
				return err
			}
			found++
			for _, f := range run(t, path, role).Findings {
				if strings.HasPrefix(f.ID, "cp/") {
					t.Errorf("%s: %s %s:%d %s", path, f.ID, f.File, f.Line, f.Message)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if found < tree.min {
			t.Errorf("%s has %d modules, want at least %d", tree.dir, found, tree.min)
		}
	}
}

// TestControlPlaneChecksSeeThroughTypicalModules makes one mistake at a time in these
// modules: the checks are silent there because nothing is wrong, not because they
// do not see it.
func TestControlPlaneChecksSeeThroughTypicalModules(t *testing.T) {
	supervisor := edit{old: `    var.distribution == "rke2" ? { rke2_supervisor = { port = 9345, backend_port = 9345 } } : {},` + "\n"}
	waits := "provisioner \"remote-exec\" {\n    inline = [\"true\"]\n  }\n"
	for _, tt := range []struct {
		name, dir, want string
		edits           []edit
	}{
		{"no supervisor", "aws/cluster", "cp/supervisor-listener", []edit{supervisor}},
		{"no supervisor", "openstack/cluster", "cp/supervisor-listener", []edit{supervisor}},
		{"members in the cluster", "openstack/cluster", "cp/cluster-members", []edit{{old: `output "exports" {`, new: `
data "openstack_compute_instance_v2" "first" {
  id = "first"
}

locals {
  members = { first = data.openstack_compute_instance_v2.first.access_ip_v4 }
}

resource "openstack_lb_member_v2" "api" {
  for_each = local.members
  address  = each.value
}

output "exports" {`}}},
		{"no attachment", "google/machine", "cp/registration", []edit{{old: `resource "google_compute_instance_group_membership" "api" {
  count          = var.control_plane && try(local.exports.api, null) != null ? 1 : 0
  instance_group = local.exports.api.instance_groups[local.domain]
  instance       = google_compute_instance.node.self_link
  zone           = local.domain
}`}}},
		{"an attachment of an unknown type", "azure/machine", "", []edit{{
			old: `resource "azurerm_network_interface_backend_address_pool_association"`, new: `resource "example_association"`,
		}}},
		{"a wait for the node", "aws/machine", "cp/registration-waits", []edit{{old: "lifecycle {", new: waits + "\n  lifecycle {"}}},
		{"a wait behind the registration", "openstack/machine", "", []edit{{
			old: "  depends_on = [openstack_lb_member_v2.api]", new: waits + "\n  depends_on = [openstack_lb_member_v2.api]",
		}}},
		{"a list", "google/machine", "cp/member-list", []edit{{old: `resource "google_compute_instance_group_membership" "api" {`, new: `
resource "google_compute_instance_group" "api" {
  name      = "api"
  instances = [google_compute_instance.node.self_link]
}

resource "google_compute_instance_group_membership" "api" {`}}},
		{"placed anywhere", "oci/machine", "", []edit{{old: "  fault_domain = local.domain\n"}}},
		{"placed anywhere, and repeated", "oci/machine", "cp/failure-domain-echo", []edit{
			{old: "  fault_domain = local.domain\n"}, {old: "oci_core_instance.node.fault_domain", new: "local.domain"},
		}},
		{"no internal address", "azure/machine", "cp/addresses", []edit{{old: "InternalIP", new: "ExternalIP"}}},
	} {
		t.Run(tt.dir+"/"+strings.ReplaceAll(tt.name, " ", "-"), func(t *testing.T) {
			from := filepath.Join("testdata/typical", filepath.FromSlash(tt.dir))
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			for _, e := range tt.edits {
				apply(t, dir, e)
			}
			role, err := contract.ParseRole(filepath.Base(from))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range run(t, dir, role).Findings {
				if strings.HasPrefix(f.ID, "cp/") {
					got = append(got, f.ID)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
