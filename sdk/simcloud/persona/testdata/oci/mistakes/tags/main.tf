terraform {
  required_providers {
    oci = { source = "oracle/oci" }
  }
}

resource "oci_core_vcn" "v" {
  compartment_id = "ocid1.compartment.oc1..aaaa"
  cidr_blocks    = ["10.7.0.0/16"]
  freeform_tags  = { for i in range(11) : "k${i}" => "v" }
}
