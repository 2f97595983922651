terraform {
  required_providers {
    oci = { source = "oracle/oci" }
  }
}

resource "oci_core_vcn" "v" {
  compartment_id = "ocid1.compartment.oc1..aaaa"
  cidr_blocks    = ["10.7.0.0/16"]
}
resource "oci_core_subnet" "s" {
  compartment_id = "ocid1.compartment.oc1..aaaa"
  vcn_id         = oci_core_vcn.v.id
  cidr_block     = "10.8.1.0/24"
}
