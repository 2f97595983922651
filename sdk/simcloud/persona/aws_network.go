package persona

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/sdk/simcloud"
)

// zoneID is the id that a zone has in every account, such as euc1-az1.
func zoneID(c *simcloud.Context) any {
	return zoneIDOf(or(c, "availability_zone", c.Settings().Region+"a"))
}

func zoneIDOf(zone string) string {
	if zone == "" {
		return ""
	}
	parts := strings.Split(zone[:len(zone)-1], "-")
	short := ""
	for i, p := range parts {
		switch {
		case p == "":
		case i == 0 || i == len(parts)-1:
			short += p
		default:
			short += p[:1]
		}
	}
	return short + "-az" + strconv.Itoa(int(zone[len(zone)-1]-'a')+1)
}

// vpcRange: a VPC has between 16 and 65,536 addresses.
func vpcRange(c *simcloud.Context) error {
	p, err := netip.ParsePrefix(c.Text("cidr_block"))
	if err != nil || p.Bits() < 16 || p.Bits() > 28 || p.Masked() != p {
		return fmt.Errorf("api error InvalidVpc.Range: the CIDR '%s' is invalid", c.Text("cidr_block"))
	}
	return nil
}

// subnetRange: a subnet lies in its VPC and beside the others.
func subnetRange(c *simcloud.Context) error {
	cidr := c.Text("cidr_block")
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		if cidr == "" {
			return nil // one for IPv6 alone
		}
		return fmt.Errorf("api error InvalidParameterValue: value (%s) for parameter cidrBlock is invalid; this is not a valid CIDR block", cidr)
	}
	vpc := c.Object("aws_vpc", c.Text("vpc_id"))
	if vpc != nil {
		all, err := netip.ParsePrefix(vpc.Text("cidr_block"))
		if err == nil && (!all.Contains(p.Addr()) || p.Bits() < all.Bits()) {
			return fmt.Errorf("api error InvalidSubnet.Range: the CIDR '%s' is invalid", cidr)
		}
	}
	if p.Bits() < 16 || p.Bits() > 28 {
		return fmt.Errorf("api error InvalidSubnet.Range: the CIDR '%s' is invalid", cidr)
	}
	for _, o := range c.Objects("aws_subnet") {
		other, err := netip.ParsePrefix(o.Text("cidr_block"))
		if err == nil && o.Text("vpc_id") == c.Text("vpc_id") && other.Overlaps(p) {
			return fmt.Errorf("api error InvalidSubnet.Conflict: the CIDR '%s' conflicts with another subnet", cidr)
		}
	}
	if zone, region := c.Text("availability_zone"), c.Settings().Region; zone != "" && !strings.HasPrefix(zone, region) {
		return fmt.Errorf("api error InvalidParameterValue: value (%s) for parameter availabilityZone is invalid; subnets can currently only be created in the following availability zones: %[2]sa, %[2]sb, %[2]sc", zone, region)
	}
	return nil
}

// oneGateway: a VPC has one internet gateway.
func oneGateway(c *simcloud.Context) error {
	vpc := c.Text("vpc_id")
	for _, o := range c.Objects("aws_internet_gateway") {
		if vpc != "" && o.Text("vpc_id") == vpc {
			return fmt.Errorf("api error Resource.AlreadyAssociated: resource %s is already attached to network %s", o.ID, vpc)
		}
	}
	return nil
}

// mappedAddresses: a gateway stays while something in its network has a public address.
func mappedAddresses(c *simcloud.Context) error {
	vpc := c.Text("vpc_id")
	for _, o := range c.Objects("aws_instance") {
		subnet := c.Object("aws_subnet", o.Text("subnet_id"))
		if vpc != "" && subnet != nil && subnet.Text("vpc_id") == vpc && o.Text("public_ip") != "" {
			return fmt.Errorf("api error DependencyViolation: network %s has some mapped public address(es); please unmap those public address(es) before detaching the gateway", vpc)
		}
	}
	return nil
}

// revokeRules: a group goes with its own rules, and stays while another group's rule names it.
func revokeRules(c *simcloud.Context) error {
	id := c.Text("id")
	for _, o := range c.Objects("aws_vpc_security_group_*_rule") {
		if o.Text("referenced_security_group_id") == id && o.Text("security_group_id") != id {
			return fmt.Errorf("api error DependencyViolation: resource %s has a dependent object", id)
		}
	}
	for _, o := range c.Objects("aws_security_group_rule") {
		if o.Text("source_security_group_id") == id && o.Text("security_group_id") != id {
			return fmt.Errorf("api error DependencyViolation: resource %s has a dependent object", id)
		}
	}
	return nil
}
