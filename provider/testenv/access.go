package testenv

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// insecure is for asking a process on this machine whether it is healthy. Its certificate is made up at its start.
func insecure() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // nothing is sent
}

// AddUser makes a user and returns the configuration of a client that acts as that user, by a client certificate.
// RBAC decides what the user may do.
func (e *Environment) AddUser(name string, groups ...string) (*rest.Config, error) {
	user, err := e.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: e.env.Config.QPS, Burst: e.env.Config.Burst})
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user.Config(), nil
}

// ServiceAccountConfig returns the configuration of a client that acts as a service account, by a token that is good
// for an hour.
func (e *Environment) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	seconds := int64(time.Hour / time.Second)
	token, err := e.clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token of service account %s/%s: %w", namespace, name, err)
	}
	config := rest.AnonymousClientConfig(e.env.Config)
	config.BearerToken = token.Status.Token
	config.QPS, config.Burst = e.env.Config.QPS, e.env.Config.Burst
	return config, nil
}

// Kubeconfig writes a client's configuration in the form that kubectl and other programs read. It holds the client's
// secrets.
func Kubeconfig(c *rest.Config) ([]byte, error) {
	const name = "testenv"
	out, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, Token: c.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return out, nil
}
