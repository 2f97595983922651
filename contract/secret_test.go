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

func TestMaybeSecretName(t *testing.T) {
	for _, name := range []string{"password", "kubeconfig_password", "join-token", "S3_SECRET_KEY", "db_secret"} {
		if !contract.MaybeSecretName(name) {
			t.Errorf("%s is no secret name", name)
		}
	}
	for _, name := range []string{"", "tokens", "token_id", "broken", "secret_name", "compass_word", "mytoken", "_"} {
		if contract.MaybeSecretName(name) {
			t.Errorf("%s is a secret name", name)
		}
	}
}
