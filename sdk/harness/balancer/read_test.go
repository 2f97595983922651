package balancer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// resource makes a resource from an address and JSON.
func resource(t *testing.T, address, values string, dependsOn ...string) Resource {
	t.Helper()
	r := Resource{Address: address, Type: TypeIn(address), DependsOn: dependsOn}
	if err := json.Unmarshal([]byte(values), &r.Values); err != nil {
		t.Fatalf("reading the values of %s: %v", address, err)
	}
	return r
}

func TestTypeIn(t *testing.T) {
	for address, want := range map[string]string{
		"aws_lb.api":           "aws_lb",
		`aws_lb.api["a.b[0]"]`: "aws_lb",
		`module.lb["x.y"].module.n[0].aws_lb.api`: "aws_lb",
		`aws_lb.api["a\"].c"]`:                    "aws_lb",
		"aws_lb":                                  "",
		"":                                        "",
	} {
		if got := TypeIn(address); got != want {
			t.Errorf("the type in %s is %q, want %q", address, got, want)
		}
	}
}

func TestListenersOf(t *testing.T) {
	both, api, supervisor := []Listener{ListenerAPI, ListenerSupervisor}, []Listener{ListenerAPI}, []Listener{ListenerSupervisor}
	tests := []struct {
		address, values string
		want            []Listener
	}{
		{`aws_lb_target_group_attachment.x["a"]`, `{"port": 9345}`, supervisor},
		{`aws_lb_target_group_attachment.x["supervisor"]`, `{"port": 6443}`, api},
		{`openstack_lb_member_v2.x["rke2_supervisor"]`, `{"protocol_port": null}`, supervisor},
		{`openstack_lb_member_v2.kube_apiserver`, `{}`, api},
		{"azurerm_network_interface_backend_address_pool_association.x[0]", `{}`, both},
		{"terraform_data.x", `{}`, both},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, ListenersOf(resource(t, tt.address, tt.values))); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.address, tt.values, diff)
		}
	}
}

func TestChecks(t *testing.T) {
	tests := []struct {
		name, address, values string
		want                  Check
		slow, api, supervisor bool // that something is said against it
	}{
		{
			name: "thresholds and interval", address: "aws_lb_target_group.api", values: `{"port": 6443, "health_check": [{"protocol": "TCP", "port": "traffic-port", "interval": 10, "healthy_threshold": 2, "unhealthy_threshold": 3}]}`,
			want: Check{Listener: ListenerAPI, Protocol: "TCP", Window: Window{Healthy: 20 * time.Second, Unhealthy: 30 * time.Second}},
		},
		{
			name: "the provider's defaults are slow", address: "aws_lb_target_group.api", values: `{"port": 9345}`,
			want: Check{Listener: ListenerSupervisor, Window: Window{Healthy: 90 * time.Second, Unhealthy: 90 * time.Second}}, slow: true,
		},
		{
			name: "a block a protocol", address: "google_compute_health_check.api", values: `{"check_interval_sec": 5, "https_health_check": [{"port": 6443, "request_path": "/api"}], "tcp_health_check": []}`,
			want: Check{Listener: ListenerAPI, Protocol: "HTTPS", Path: "/api", Window: Window{Healthy: 10 * time.Second, Unhealthy: 10 * time.Second}}, api: true, supervisor: true,
		},
		{
			name: "milliseconds", address: "oci_network_load_balancer_backend_set.x", values: `{"health_checker": [{"protocol": "HTTP", "interval_in_millis": 5000, "retries": 2}]}`,
			want: Check{Protocol: "HTTP", Window: Window{Healthy: 10 * time.Second, Unhealthy: 10 * time.Second}}, api: true, supervisor: true,
		},
		{
			name: "codes of a supervisor", address: `azurerm_lb_probe.x["rke2_supervisor"]`, values: `{"protocol": "Tcp", "port": 9345}`,
			want: Check{Listener: ListenerSupervisor, Protocol: "TCP", Window: Window{Healthy: 15 * time.Second, Unhealthy: 30 * time.Second}},
		},
		{
			name: "nothing known of the interval", address: "openstack_lb_monitor_v2.x", values: `{"type": "TCP", "delay": null}`,
			want: Check{Protocol: "TCP"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Checks([]Resource{resource(t, tt.address, tt.values)})
			if len(got) != 1 {
				t.Fatalf("there are %d checks", len(got))
			}
			c := got[0]
			if (c.Slow() != "") != tt.slow || (c.WrongForAPI() != "") != tt.api || (c.WrongForSupervisor() != "") != tt.supervisor {
				t.Errorf("slow: %q, for an API server: %q, for a supervisor: %q", c.Slow(), c.WrongForAPI(), c.WrongForSupervisor())
			}
			tt.want.Address, tt.want.Why = tt.address, c.Why
			if diff := cmp.Diff(tt.want, c); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	etcd, dns := Port{Port: 2379, Protocol: "tcp"}, Port{Port: 53, Protocol: "udp"}
	type rules map[string]string
	tests := []struct {
		name  string
		rules rules
		port  Port
		want  bool
	}{
		{"a range", rules{"openstack_networking_secgroup_rule_v2.a": `{"security_group_id": "g", "direction": "ingress", "protocol": "tcp", "port_range_min": 2379, "port_range_max": 2380}`}, etcd, true},
		{"another protocol", rules{"openstack_networking_secgroup_rule_v2.a": `{"security_group_id": "g", "direction": "ingress", "protocol": "tcp", "port_range_min": 1, "port_range_max": 100}`}, dns, false},
		{"outgoing", rules{"openstack_networking_secgroup_rule_v2.a": `{"security_group_id": "g", "direction": "egress"}`}, etcd, false},
		{"every protocol", rules{"aws_vpc_security_group_ingress_rule.a": `{"security_group_id": "g", "ip_protocol": "-1"}`}, etcd, true},
		{"inline, zero to zero of every protocol", rules{"aws_security_group.a": `{"id": "g", "ingress": [{"protocol": "-1", "from_port": 0, "to_port": 0}]}`}, etcd, true},
		{"a number for the protocol", rules{"oci_core_network_security_group_security_rule.a": `{"network_security_group_id": "g", "direction": "INGRESS", "protocol": "6", "tcp_options": [{"destination_port_range": [{"min": 2379, "max": 2380}]}]}`}, etcd, true},
		{"texts of ranges", rules{"google_compute_firewall.a": `{"network": "n", "direction": "INGRESS", "allow": [{"protocol": "tcp", "ports": ["22", "2379-2380"]}]}`}, etcd, true},
		{"outgoing at the resource", rules{"google_compute_firewall.a": `{"network": "n", "direction": "EGRESS", "allow": [{"protocol": "tcp", "ports": []}]}`}, etcd, false},
		{"a refusal comes first", rules{
			"azurerm_network_security_rule.a": `{"network_security_group_name": "g", "direction": "Inbound", "access": "Deny", "priority": 100, "protocol": "*", "destination_port_range": "2379-2380"}`,
			"azurerm_network_security_rule.b": `{"network_security_group_name": "g", "direction": "Inbound", "access": "Allow", "priority": 200, "protocol": "*", "destination_port_range": "*"}`,
		}, etcd, false},
		{"a refusal comes later", rules{
			"azurerm_network_security_rule.a": `{"network_security_group_name": "g", "direction": "Inbound", "access": "Deny", "priority": 4096, "protocol": "*", "destination_port_range": "*"}`,
			"azurerm_network_security_rule.b": `{"network_security_group_name": "g", "direction": "Inbound", "access": "Allow", "priority": 200, "protocol": "Tcp", "destination_port_ranges": ["2379", "2380"]}`,
		}, etcd, true},
		{"left to a cloud that lets nodes through", rules{
			"azurerm_network_security_rule.a": `{"network_security_group_name": "g", "direction": "Inbound", "access": "Deny", "priority": 110, "protocol": "Tcp", "destination_port_range": "22"}`,
		}, etcd, true},
		{"a group of the balancer", rules{
			"aws_lb.a":                              `{"security_groups": ["g"]}`,
			"aws_vpc_security_group_ingress_rule.a": `{"security_group_id": "g", "ip_protocol": "-1"}`,
		}, etcd, false},
		{"a block a protocol", rules{"ibm_is_security_group_rule.a": `{"group": "g", "direction": "inbound", "tcp": [{"port_min": 2379, "port_max": 2379}]}`}, etcd, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var all []Resource
			for address, values := range tt.rules {
				all = append(all, resource(t, address, values))
			}
			if got := FirewallsOf(all).Open(tt.port); got != tt.want {
				t.Errorf("%s is open: %t", tt.port, got)
			}
		})
	}
}

func TestSelected(t *testing.T) {
	cluster := []Resource{
		resource(t, "hcloud_load_balancer_target.x", `{"type": "label_selector", "label_selector": "role=control-plane,cluster==demo, ready"}`),
		resource(t, "digitalocean_loadbalancer.x", `{"droplet_tag": "api"}`),
		resource(t, "hcloud_load_balancer_target.one", `{"type": "server", "server_id": 7}`),
	}
	if n := len(Selectors(cluster)); n != 2 {
		t.Errorf("there are %d selectors, want 2", n)
	}
	for values, want := range map[string]bool{
		`{"labels": {"role": "control-plane", "cluster": "demo", "ready": ""}}`: true,
		`{"labels": {"role": "control-plane", "cluster": "demo"}}`:              false,
		`{"labels": {"role": "worker", "cluster": "demo", "ready": ""}}`:        false,
		`{"labels": null}`: false,
	} {
		if got := Selected(cluster, []Resource{resource(t, "hcloud_server.x", values)}); (len(got) == 1) != want {
			t.Errorf("%s is selected: %v", values, got)
		}
	}
	if got := Selected(cluster, []Resource{resource(t, "digitalocean_droplet.x", `{"tags": ["a", "api"]}`)}); len(got) != 1 {
		t.Errorf("a tag selects %v", got)
	}
}

func TestOrderOf(t *testing.T) {
	attachment := func(on ...string) Resource {
		return resource(t, "aws_lb_target_group_attachment.x[0]", `{}`, on...)
	}
	instance := func(on ...string) Resource { return resource(t, "aws_instance.x[0]", `{"id": "i-1"}`, on...) }
	card := resource(t, "aws_network_interface.x", `{}`)
	for want, all := range map[Order][]Resource{
		OrderAfterInstance:  {attachment("aws_instance.x"), instance()},
		OrderBeforeInstance: {attachment(), instance("aws_lb_target_group_attachment.x")},
		OrderNone:           {attachment(), instance(), card},
		OrderUnknown:        {attachment("aws_network_interface.x"), card},
	} {
		if got := OrderOf(all[0], all); got != want {
			t.Errorf("the order is %d, want %d", got, want)
		}
	}
	if got := InstanceIDs([]Resource{instance(), attachment()}); !cmp.Equal(got, []string{"i-1"}) {
		t.Errorf("instances are %v", got)
	}
}

func TestMentions(t *testing.T) {
	all := []Resource{
		resource(t, "google_compute_instance_group.x", `{"instances": ["i-1"], "named_port": []}`),
		resource(t, "terraform_data.x", `{"input": {"list": [1, "i-1"]}}`),
	}
	if diff := cmp.Diff([]string{"terraform_data.x"}, Mentions(all, "i-1")); diff != "" {
		t.Errorf("what the cloud reports is no mention (-want +got):\n%s", diff)
	}
	if got := MemberLists(all); len(got) != 1 || got[0].Address != "google_compute_instance_group.x" {
		t.Errorf("lists of members are %v", got)
	}
}

func TestRolls(t *testing.T) {
	for _, tt := range []struct {
		address, values string
		want            bool
	}{
		{"aws_autoscaling_group.x", `{"instance_refresh": [{"strategy": "Rolling"}]}`, true},
		{"aws_autoscaling_group.x", `{"instance_refresh": []}`, false},
		{"google_compute_instance_group_manager.x", `{"update_policy": [{"type": "PROACTIVE"}]}`, true},
		{"google_compute_instance_group_manager.x", `{}`, false},
		{"azurerm_linux_virtual_machine_scale_set.x", `{"upgrade_mode": "Manual"}`, false},
		{"oci_core_instance_pool.x", `{}`, false},
	} {
		if got, why := Rolls(resource(t, tt.address, tt.values)); got != tt.want || got != (why == "") {
			t.Errorf("%s %s rolls: %t, %q", tt.address, tt.values, got, why)
		}
	}
}

func TestDescribe(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range []*Balancer{New(nil), New(&Membership{Pattern: PatternNone}), attachment(), New(&Membership{Pattern: PatternSelector, Declared: true})} {
		text := b.Describe()
		if text == "" || seen[text] {
			t.Errorf("described twice, or not at all: %q", text)
		}
		seen[text] = true
	}
	b := New(nil)
	b.Recognise(PatternSelector)
	if b.Pattern() != PatternSelector || b.Direct() {
		t.Error("a pattern that is recognised late is not played")
	}
}
