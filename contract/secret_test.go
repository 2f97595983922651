package contract_test

import (
	"strings"
	"testing"

	"github.com/captf-toolkit/captf/contract"
)

func TestSecretName(t *testing.T) {
	for _, name := range contract.SecretNames() {
		if !contract.SecretName(name) || !contract.SecretName(strings.ToUpper(name)) {
			t.Errorf("%s is no secret name", name)
		}
	}
	for _, name := range []string{"", "tokens", "key_name", "secret_name", "region"} {
		if contract.SecretName(name) {
			t.Errorf("%s is a secret name", name)
		}
	}
}
