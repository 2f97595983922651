package persona

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

func googleCompute() types {
	return types{
		"google_compute_instance": google(simcloud.KindInstance, zonal, "instances", simcloud.TypeRule{
			ForceNew: []string{
				"can_ip_forward", "description", "hostname", "metadata_startup_script", "guest_accelerator", "instance_encryption_key", "scratch_disk", "reservation_affinity",
				"boot_disk.auto_delete", "boot_disk.device_name", "boot_disk.disk_encryption_key_raw", "boot_disk.initialize_params.image", "boot_disk.initialize_params.size",
				"boot_disk.initialize_params.type", "boot_disk.initialize_params.labels", "boot_disk.kms_key_self_link", "boot_disk.mode", "boot_disk.source", "confidential_instance_config",
				"network_interface.network", "network_interface.subnetwork", "network_interface.network_ip", "network_interface.nic_type", "scheduling.preemptible", "scheduling.provisioning_model",
			},
			Defaults: map[string]any{"can_ip_forward": false, "deletion_protection": false, "boot_disk.auto_delete": true, "boot_disk.mode": "READ_WRITE"},
			Values: values{
				"instance_id": numeric, "cpu_platform": simcloud.Const("Intel Ice Lake"), "current_status": simcloud.Const("RUNNING"), "metadata_fingerprint": simcloud.Text("{hex:11}="),
				"tags_fingerprint": simcloud.Text("{hex:11}="), "min_cpu_platform": simcloud.Const(""),
				"network_interface.name": simcloud.Const("nic0"), "network_interface.network": simcloud.Const("default"), "network_interface.subnetwork": simcloud.Const(""),
				"network_interface.subnetwork_project": simcloud.Text("{account}"), "network_interface.stack_type": simcloud.Const("IPV4_ONLY"), "network_interface.ipv6_access_type": simcloud.Const(""),
				"network_interface.network_ip": googleInterfaceAddress, "network_interface.access_config.nat_ip": publicAddress, "network_interface.access_config.network_tier": simcloud.Const("PREMIUM"),
				"boot_disk.device_name": simcloud.Const("persistent-disk-0"), "boot_disk.disk_encryption_key_sha256": simcloud.Const(""), "boot_disk.kms_key_self_link": simcloud.Const(""),
				"boot_disk.source": func(c *simcloud.Context) any {
					return fmt.Sprintf("%sprojects/%s/zones/%s/disks/%s", googleAPI, c.Text("project"), c.Text("zone"), c.Text("name"))
				},
				"boot_disk.initialize_params.image": simcloud.Const(""), "boot_disk.initialize_params.size": simcloud.Const(10), "boot_disk.initialize_params.type": simcloud.Const("pd-standard"),
				"boot_disk.initialize_params.labels": simcloud.Const(map[string]any{}), "boot_disk.initialize_params.provisioned_iops": simcloud.Const(0),
				"boot_disk.initialize_params.provisioned_throughput": simcloud.Const(0), "boot_disk.initialize_params.resource_policies": simcloud.Const([]any{}),
			},
			Recompute: []string{"metadata_fingerprint", "tags_fingerprint", "label_fingerprint"},
			Create:    chain(googleMetadata, googleLabels), Update: chain(googleMetadata, googleLabels, googleNeedsStop), Delete: leaveGroups,
			Stopped: map[string]any{"current_status": "TERMINATED"}, Addresses: []string{"network_interface.network_ip"},
		}),
		"google_compute_disk": google(simcloud.KindVolume, zonal, "disks", simcloud.TypeRule{
			ForceNew: []string{"image", "snapshot", "type", "source_disk", "physical_block_size_bytes"},
			Defaults: map[string]any{"type": "pd-standard"}, Values: values{"size": simcloud.Const(10), "users": simcloud.Const([]any{}), "image": simcloud.Const(""), "disk_id": simcloud.Text("{digits:19}"), "physical_block_size_bytes": simcloud.Const(4096)},
			Delete: heldBy("google_compute_attached_disk", "disk"),
		}),
		"google_compute_attached_disk": {
			ForceNew: []string{"disk", "instance", "device_name", "mode", "zone"}, Defaults: map[string]any{"mode": "READ_WRITE"},
			Values: values{"zone": googleZone, "device_name": simcloud.Const("persistent-disk-1"), "id": func(c *simcloud.Context) any {
				return fmt.Sprintf("projects/%s/zones/%s/instances/%s/%s", c.Text("project"), c.Text("zone"), last(c.Text("instance"), "/"), last(c.Text("disk"), "/"))
			}},
		},
	}
}

// googleInterfaceAddress is an address of the subnetwork of a network interface.
func googleInterfaceAddress(c *simcloud.Context) any {
	return c.Address(googleRange(c, c.Text(regexp.MustCompile(`[^.]+$`).ReplaceAllString(c.Path(), "subnetwork"))))
}

func googleGateway(cidr string) string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	return nth(p.Masked().Addr(), 1)
}

// googleMetadata: a value has at most 256 KiB, all together 512 KiB.
func googleMetadata(c *simcloud.Context) error {
	m, _ := c.Attr("metadata").(map[string]any)
	all := 0
	for k, x := range m {
		v, _ := x.(string)
		all += len(k) + len(v)
		if len(v) > 262144 {
			return fmt.Errorf("googleapi: Error 413: Value for field 'resource.metadata.items.value' is too large: maximum size 262144 character(s); actual size %d, fieldSizeTooLarge", len(v))
		}
	}
	if all > 524288 {
		return fmt.Errorf("googleapi: Error 413: Total size of metadata is %d, at most 524288 are allowed, metadataTooLarge", all)
	}
	return nil
}

var labelKey, labelValue = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`), regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)

// googleLabels: at most 64, of lower-case letters, digits, hyphens and underscores.
func googleLabels(c *simcloud.Context) error {
	m, _ := c.Attr("labels").(map[string]any)
	if len(m) > 64 {
		return fmt.Errorf("googleapi: Error 400: Too many labels: %d, at most 64 are allowed, invalid", len(m))
	}
	for k, x := range m {
		if v, _ := x.(string); !labelKey.MatchString(k) || !labelValue.MatchString(v) {
			return fmt.Errorf("googleapi: Error 400: Invalid value for field 'labels': '%s=%s'. Label keys and values have at most 63 lower-case letters, digits, hyphens and underscores, invalid", k, v)
		}
	}
	return nil
}

// googleNeedsStop: the machine type of an instance that runs changes only if the provider may stop it.
func googleNeedsStop(c *simcloud.Context) error {
	old := c.Object(c.Type(), c.Text("id"))
	if old == nil || c.Bool("allow_stopping_for_update") || old.Text("machine_type") == c.Text("machine_type") {
		return nil
	}
	return errors.New("changing the machine_type on a started instance requires stopping it: please set allow_stopping_for_update = true in your config to acknowledge it")
}

// leaveGroups: an instance that is deleted is no member of a group any more.
func leaveGroups(c *simcloud.Context) error {
	for _, g := range c.Objects("google_compute_instance_group") {
		members, gone := []any{}, false
		for _, m := range texts(g.Get("instances")) {
			if same(m, c.Text("id")) {
				gone = true
				continue
			}
			members = append(members, m)
		}
		if gone {
			g.Attributes["instances"], g.Attributes["size"] = members, len(members)
			if err := c.Put(*g); err != nil {
				return err
			}
		}
	}
	return nil
}

// googleGroups are managed groups with what they need.
func googleGroups() types {
	template := func(where place) simcloud.TypeRule {
		return simcloud.TypeRule{
			Kind: simcloud.KindTemplate,
			ForceNew: []string{
				"name", "name_prefix", "machine_type", "disk", "network_interface", "metadata", "metadata_startup_script", "labels", "tags", "service_account", "scheduling", "description",
				"can_ip_forward", "shielded_instance_config", "guest_accelerator", "min_cpu_platform", "instance_description", "advanced_machine_features",
			},
			Defaults: map[string]any{"can_ip_forward": false, "disk.auto_delete": true},
			Values: values{
				"name": prefixed("name_prefix"), "id": where.path("instanceTemplates"), "self_link": link, "metadata_fingerprint": simcloud.Text("{hex:11}="),
				"tags_fingerprint": simcloud.Const(""), "numeric_id": numeric, "network_interface.name": simcloud.Const("nic0"), "network_interface.network": simcloud.Const("default"),
				"network_interface.subnetwork": simcloud.Const(""), "network_interface.subnetwork_project": simcloud.Text("{account}"), "network_interface.stack_type": simcloud.Const(""),
				"disk.boot": simcloud.Const(true), "disk.device_name": simcloud.Const("persistent-disk-0"), "disk.interface": simcloud.Const("SCSI"), "disk.mode": simcloud.Const("READ_WRITE"),
				"disk.type": simcloud.Const("PERSISTENT"), "disk.disk_type": simcloud.Const("pd-standard"), "disk.source_image": simcloud.Const(""), "disk.disk_size_gb": simcloud.Const(10),
				"disk.provisioned_iops": simcloud.Const(0), "disk.provisioned_throughput": simcloud.Const(0),
			},
			Create: chain(googleName, googleMetadata, googleLabels),
			Delete: heldBy("google_compute_*instance_group_manager", "version.instance_template"),
		}
	}
	globalTemplate := template(global)
	globalTemplate.Values["self_link_unique"] = func(c *simcloud.Context) any { return c.Text("self_link") + "?uniqueId=" + c.Text("numeric_id") }
	regionalTemplate := template(regional)
	regionalTemplate.ForceNew = append(regionalTemplate.ForceNew, "region")
	regionalTemplate.Values["region"] = simcloud.Text("{region}")
	manager := func(where place) simcloud.TypeRule {
		g := googleGroup(where)
		return google(simcloud.KindGroup, where, "instanceGroupManagers", simcloud.TypeRule{
			ForceNew: []string{"base_instance_name", "description"},
			Defaults: map[string]any{"list_managed_instances_results": "PAGELESS", "wait_for_instances": false, "wait_for_instances_status": "STABLE"},
			Values: values{
				"target_size": simcloud.Const(0), "target_stopped_size": simcloud.Const(0), "target_suspended_size": simcloud.Const(0), "instance_group_manager_id": simcloud.Text("{digits:10}"),
				"instance_group": func(c *simcloud.Context) any {
					return strings.Replace(c.Text("self_link"), "/instanceGroupManagers/", "/instanceGroups/", 1)
				},
				"status": simcloud.Const([]any{}),
			},
			Create: g.resize, Update: g.resize, Read: g.tick,
			Delete: heldBy("google_compute_*backend_service", "backend.group", "google_compute_*autoscaler", "target"),
		})
	}
	regionalManager := manager(regional)
	regionalManager.ForceNew = append(regionalManager.ForceNew, "distribution_policy_zones")
	regionalManager.Values["region"] = simcloud.Text("{region}")
	regionalManager.Values["distribution_policy_zones"] = func(c *simcloud.Context) any { return googleZones(c.Settings().Region) }
	regionalManager.Values["distribution_policy_target_shape"] = simcloud.Const("EVEN")
	zonalManager := manager(zonal)
	zonalManager.Values["operation"] = simcloud.Const("")
	scaler := func(where place) simcloud.TypeRule {
		return google(simcloud.KindOther, where, "autoscalers", simcloud.TypeRule{Defaults: map[string]any{"autoscaling_policy.cooldown_period": 60, "autoscaling_policy.mode": "ON"}})
	}
	return types{
		"google_compute_instance_template": globalTemplate, "google_compute_region_instance_template": regionalTemplate,
		"google_compute_instance_group_manager": zonalManager, "google_compute_region_instance_group_manager": regionalManager,
		"google_compute_autoscaler": scaler(zonal), "google_compute_region_autoscaler": scaler(regional),
	}
}

func googleZones(region string) []any { return []any{region + "-b", region + "-c", region + "-d"} }

const googleTemplateKey = "instance-template"

// googleGroup is how a managed group keeps its members.
func googleGroup(where place) group {
	of := func(c *simcloud.Context, ref string) *simcloud.Object {
		for _, o := range c.Objects("google_compute_*instance_template") {
			if link, _, _ := strings.Cut(ref, "?"); same(o.ID, link) {
				return o
			}
		}
		return nil
	}
	return group{
		state: "current_status", starting: "STAGING", running: "RUNNING",
		members: func(c *simcloud.Context) []*simcloud.Object {
			var out []*simcloud.Object
			for _, o := range c.Objects("google_compute_instance") {
				if m, _ := o.Get("metadata").(map[string]any); m["created-by"] == any(c.Text("id")) {
					out = append(out, o)
				}
			}
			return out
		},
		places: func(c *simcloud.Context) []string {
			if where == zonal {
				return []string{c.Text("zone")}
			}
			return list(c, "distribution_policy_zones")
		},
		place: func(o *simcloud.Object) string { return o.Text("zone") },
		size:  func(c *simcloud.Context) int { return c.Int("target_size") },
		stale: func(c *simcloud.Context, o *simcloud.Object) bool {
			m, _ := o.Get("metadata").(map[string]any)
			return object(c.Attr("update_policy"))["type"] == any("PROACTIVE") && m[googleTemplateKey] != object(c.Attr("version"))["instance_template"]
		},
		build: func(c *simcloud.Context, zone, label string) simcloud.Object {
			name := c.Text("base_instance_name") + "-" + c.Hex(label, 4)
			id := fmt.Sprintf("projects/%s/zones/%s/instances/%s", c.Text("project"), zone, name)
			ref, _ := object(c.Attr("version"))["instance_template"].(string)
			card := map[string]any{"name": "nic0", "access_config": []any{}}
			attrs := map[string]any{
				"id": id, "name": name, "zone": zone, "project": c.Text("project"), "self_link": googleAPI + id, "instance_id": c.Digits(label, 19),
				"metadata": map[string]any{"created-by": c.Text("id"), googleTemplateKey: ref}, "network_interface": []any{card},
			}
			if t := of(c, ref); t != nil {
				nic := object(t.Get("network_interface"))
				card["network"], card["subnetwork"] = nic["network"], nic["subnetwork"]
				attrs["machine_type"], attrs["tags"], attrs["labels"] = t.Get("machine_type"), t.Get("tags"), t.Get("labels")
			}
			subnet, _ := card["subnetwork"].(string)
			card["network_ip"] = addressBeside(c, "google_compute_instance", "network_interface.network_ip", googleRange(c, subnet), label)
			return simcloud.Object{Type: "google_compute_instance", ID: id, Kind: simcloud.KindInstance, Attributes: attrs}
		},
	}
}

// googleOther are identities, secrets, records and stores.
func googleOther() types {
	binding := func(of string, more ...string) simcloud.TypeRule {
		return simcloud.TypeRule{
			Kind: simcloud.KindIdentity, ForceNew: append([]string{"member", "role", "condition"}, more...),
			Values: values{"id": func(c *simcloud.Context) any { return c.Text(of) + "/" + c.Text("role") + "/" + c.Text("member") }},
		}
	}
	return types{
		"google_service_account": {
			Kind: simcloud.KindIdentity, ForceNew: []string{"account_id"}, Defaults: map[string]any{"disabled": false},
			Values: values{
				"email": func(c *simcloud.Context) any {
					return c.Text("account_id") + "@" + c.Text("project") + ".iam.gserviceaccount.com"
				},
				"member": simcloud.Text("serviceAccount:{attr:email}"), "name": simcloud.Text("projects/{attr:project}/serviceAccounts/{attr:email}"), "id": simcloud.Copy("name"),
				"unique_id": simcloud.Text("{digits:21}"),
			},
			Create: named("account_id", regexp.MustCompile(`^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$`),
				"googleapi: Error 400: The account ID \"%s\" does not have a length between 6 and 30, or has characters other than lower-case letters, digits and hyphens, badRequest"),
		},
		"google_project_iam_member":               binding("project"),
		"google_service_account_iam_member":       binding("service_account_id", "service_account_id"),
		"google_secret_manager_secret_iam_member": binding("secret_id", "secret_id"),
		"google_storage_bucket_iam_member":        binding("bucket", "bucket"),
		"google_secret_manager_secret": {
			ForceNew: []string{"secret_id", "replication"}, Defaults: map[string]any{"deletion_protection": false},
			Values: values{"id": simcloud.Text("projects/{attr:project}/secrets/{attr:secret_id}"), "name": simcloud.Text("projects/123456789012/secrets/{attr:secret_id}"), "create_time": simcloud.Const("2026-01-01T00:00:00Z"), "expire_time": simcloud.Const("")},
			Create: named("secret_id", regexp.MustCompile(`^[a-zA-Z0-9_-]{1,255}$`), "googleapi: Error 400: The provided Secret ID [%s] does not match the expected format [[a-zA-Z_0-9]+], badRequest"),
			Delete: secretVersions,
		},
		"google_secret_manager_secret_version": {
			ForceNew: []string{"secret", "secret_data", "is_secret_data_base64"}, Defaults: map[string]any{"deletion_policy": "DELETE", "enabled": true, "is_secret_data_base64": false},
			Values: values{"version": secretVersion, "name": simcloud.Text("{attr:secret}/versions/{attr:version}"), "id": simcloud.Copy("name"), "create_time": simcloud.Const("2026-01-01T00:00:00Z"), "destroy_time": simcloud.Const("")},
			Create: secretSize,
		},
		"google_dns_managed_zone": {
			ForceNew: []string{"name", "dns_name", "visibility"}, Defaults: map[string]any{"description": "Managed by Terraform", "force_destroy": false, "visibility": "public"},
			Values: values{"id": simcloud.Text("projects/{attr:project}/managedZones/{attr:name}"), "name_servers": simcloud.Const([]any{"ns-cloud-a1.googledomains.com."}), "managed_zone_id": simcloud.Text("{digits:19}")},
			Create: googleName,
		},
		"google_dns_record_set": {
			Kind: simcloud.KindRecord, ForceNew: []string{"name", "managed_zone"}, Values: values{"id": simcloud.Text("projects/{attr:project}/managedZones/{attr:managed_zone}/rrsets/{attr:name}/{attr:type}")},
		},
		"google_storage_bucket": {
			ForceNew: []string{"name", "location", "enable_object_retention"}, Defaults: map[string]any{"force_destroy": false, "storage_class": "STANDARD", "enable_object_retention": false},
			Values: values{
				"id": simcloud.Copy("name"), "self_link": simcloud.Text("https://www.googleapis.com/storage/v1/b/{attr:name}"), "url": simcloud.Text("gs://{attr:name}"), "rpo": simcloud.Const("DEFAULT"),
				"public_access_prevention": simcloud.Const("inherited"), "uniform_bucket_level_access": simcloud.Const(false), "project_number": simcloud.Const(0),
			},
			Create: named("name", regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`), "googleapi: Error 400: Invalid bucket name: '%s', invalid"),
			Delete: googleEmptyBucket,
		},
		"google_storage_bucket_object": {
			ForceNew: []string{"bucket", "name"}, Defaults: map[string]any{"detect_md5hash": "different hash"},
			Values:    values{"id": simcloud.Text("{attr:bucket}-{attr:name}"), "output_name": simcloud.Copy("name"), "md5hash": simcloud.Text("{hex:22}=="), "content_type": simcloud.Const("text/plain; charset=utf-8"), "storage_class": simcloud.Const("STANDARD")},
			Recompute: []string{"crc32c", "md5hash", "generation"},
		},
	}
}

// secretVersion counts the versions of a secret.
func secretVersion(c *simcloud.Context) any {
	n := 1
	for _, o := range c.Objects(c.Type()) {
		if o.Text("secret") == c.Text("secret") {
			n++
		}
	}
	return strconv.Itoa(n)
}

func secretVersions(c *simcloud.Context) error {
	for _, o := range c.Objects("google_secret_manager_secret_version") {
		if o.Text("secret") == c.Text("id") {
			c.Remove(o.Type, o.ID)
		}
	}
	return nil
}

// secretSize: a secret has at most 64 KiB.
func secretSize(c *simcloud.Context) error {
	n := len(c.Text("secret_data"))
	if raw, err := base64.StdEncoding.DecodeString(c.Text("secret_data")); err == nil && c.Bool("is_secret_data_base64") {
		n = len(raw)
	}
	if n > 65536 {
		return fmt.Errorf("googleapi: Error 400: The data field [%d bytes] must be less than or equal to 65536 bytes, badRequest", n)
	}
	return nil
}

func googleEmptyBucket(c *simcloud.Context) error {
	for _, o := range c.Objects("google_storage_bucket_object") {
		if o.Text("bucket") != c.Text("name") {
			continue
		}
		if !c.Bool("force_destroy") {
			return fmt.Errorf("error trying to delete bucket %s containing objects without `force_destroy` set to true", c.Text("name"))
		}
		c.Remove(o.Type, o.ID)
	}
	return nil
}
