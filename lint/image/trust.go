package image

import "github.com/captf-toolkit/captf/lint"

// signatureID is the identifier of the check of signatures.
const signatureID = "image/signature"

var trustRules = []rule{
	{
		Rule: lint.Rule{
			ID: signatureID, Severities: isError,
			Summary: "`--verify-key` is given, and the image has no signature that the key verifies.",
			Why:     "Whoever can write to the repository could have replaced the image, and gets the identity's credentials with it.",
			Fix:     "Sign the digest with `captf image sign`, or give the key that signed it.",
			Bad:     "captf image publish oci:./image REGISTRY/machine:v1.0.0",
			Good:    "captf image sign --key captf.key REGISTRY/machine:v1.0.0",
			Rules:   []string{"lint.md 5.1", "image.md 13"},
		},
	},
}
