package workload

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cloudv1 "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/cloud/api/v1alpha1"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Endpoint is where a control plane is reached.
type Endpoint struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// String is the form of URLs.
func (e Endpoint) String() string { return net.JoinHostPort(e.Host, strconv.Itoa(e.Port)) }

// Cluster is a workload cluster.
type Cluster struct {
	server   *Server
	group    string
	endpoint Endpoint
	listener net.Listener
	ca       *x509.Certificate // nil before kubeadm init
	api      *tls.Certificate  // guarded by the server
	etcd     map[string]*tls.Certificate
}

// Instance is a machine that boots.
type Instance struct {
	// Name is the host's, and so the Node's.
	Name, ProviderID, Version string
}

// discard is a log that nobody reads: handshakes fail as long as there is no control plane.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// components are the static pods of a control plane machine.
var components = []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager"}

func (c *Cluster) create(ctx context.Context, o client.Object) error {
	if err := c.server.store.GetResourceGroup(c.group).GetClient().Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making %T %s in the workload cluster %s: %w", o, o.GetName(), c.group, err)
	}
	return nil
}

// Boot does what kubeadm does on an instance, by its bootstrap data. An error says why kubeadm would not get any further now.
func (c *Cluster) Boot(ctx context.Context, i Instance, p *Payload) error {
	switch {
	case p.Init != nil:
		if err := c.initialise(ctx, p); err != nil {
			return fmt.Errorf("kubeadm init on %s: %w", i.Name, err)
		}
	case p.Join != nil:
		if err := c.admit(ctx, p.Join); err != nil {
			return fmt.Errorf("kubeadm join on %s: %w", i.Name, err)
		}
	}
	if p.ControlPlane() {
		if err := c.controlPlane(ctx, i, p); err != nil {
			return fmt.Errorf("kubeadm on %s: %w", i.Name, err)
		}
	}
	return c.create(ctx, node(i, p.ControlPlane()))
}

// initialise checks what kubeadm init is given, and makes what it leaves for others.
func (c *Cluster) initialise(ctx context.Context, p *Payload) error {
	if c.ca != nil {
		return errors.New("there is a control plane already, and this would be a second cluster")
	}
	if at := p.Init.ControlPlaneEndpoint; at != c.endpoint.String() {
		return fmt.Errorf("the control plane endpoint of the bootstrap data is %q, but the module's is %s", at, c.endpoint)
	}
	if _, _, err := p.authority("ca"); err != nil {
		return err
	}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"},
			Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubeadm:get-nodes"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:bootstrappers:kubeadm:default-node-token"}},
		},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "kubeadm-config", Namespace: metav1.NamespaceSystem},
			Data:       map[string]string{"ClusterConfiguration": p.Init.Text},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: metav1.NamespaceSystem}, Data: map[string]string{"Corefile": ".:53 {\n    errors\n}\n"}},
		&appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", Namespace: metav1.NamespaceSystem, Labels: map[string]string{"component": "kube-proxy"}},
			Spec:       appsv1.DaemonSetSpec{Template: podTemplate("kube-proxy", "registry.k8s.io/kube-proxy:"+p.Init.Version)},
		},
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "coredns", Namespace: metav1.NamespaceSystem},
			Spec:       appsv1.DeploymentSpec{Template: podTemplate("coredns", "registry.k8s.io/coredns/coredns:v1.12.1")},
		},
	} {
		if err := c.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// admit checks what kubeadm join checks: the cluster answers at the address that it is told, is the one it is told, and knows
// the token.
func (c *Cluster) admit(ctx context.Context, j *Join) error {
	t := j.Discovery.BootstrapToken
	if c.ca == nil {
		return fmt.Errorf("nobody answers at %s yet", t.APIServerEndpoint)
	}
	if t.APIServerEndpoint != c.endpoint.String() {
		return fmt.Errorf("the bootstrap data says %s, where nobody answers; the module's endpoint is %s", t.APIServerEndpoint, c.endpoint)
	}
	sum := sha256.Sum256(c.ca.RawSubjectPublicKeyInfo)
	if pin := "sha256:" + hex.EncodeToString(sum[:]); !slices.Contains(t.CACertHashes, pin) {
		return fmt.Errorf("the cluster's authority is %s, which is not among %v", pin, t.CACertHashes)
	}
	id, text, _ := strings.Cut(t.Token, ".")
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id}
	if err := c.server.store.GetResourceGroup(c.group).GetClient().Get(ctx, key, secret); err != nil {
		return fmt.Errorf("the cluster does not know the token %s: %w", id, err)
	}
	if string(secret.Data["token-secret"]) != text || string(secret.Data["token-id"]) != id {
		return fmt.Errorf("the token %s is not the cluster's", id)
	}
	return nil
}

// controlPlane starts the static pods of an instance, and the servers behind them.
func (c *Cluster) controlPlane(ctx context.Context, i Instance, p *Payload) error {
	ca, caKey, err := p.authority("ca")
	if err != nil {
		return err
	}
	if c.ca != nil && !c.ca.Equal(ca) {
		return errors.New("the authority of the bootstrap data is not that of the cluster")
	}
	etcdCA, etcdKey, err := p.authority("etcd/ca")
	if err != nil {
		return err
	}
	member := "etcd-" + i.Name
	ips := []net.IP{net.ParseIP(Host)}
	memberCert, err := c.server.sign(certs.Config{
		CommonName: member, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		AltNames: certs.AltNames{DNSNames: []string{"localhost", member}, IPs: ips},
	}, etcdCA, etcdKey)
	if err != nil {
		return err
	}
	apiCert, err := c.server.sign(certs.Config{
		CommonName: "kube-apiserver", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, AltNames: certs.AltNames{DNSNames: []string{"localhost"}, IPs: ips},
	}, ca, caKey)
	if err != nil {
		return err
	}
	annotations, err := c.newMember(ctx)
	if err != nil {
		return err
	}
	for _, component := range components {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: metav1.NamespaceSystem, Name: component + "-" + i.Name, Labels: map[string]string{"component": component, "tier": "control-plane"},
			},
			Spec:   corev1.PodSpec{NodeName: i.Name},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
		if component == "etcd" {
			pod.Annotations = annotations
		}
		if err := c.create(ctx, pod); err != nil {
			return err
		}
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.ca, c.etcd[member] = ca, memberCert
	if c.api == nil {
		c.api = apiCert
	}
	return nil
}

// newMember returns the annotations by which the in-memory etcd knows a member: the first one leads.
func (c *Cluster) newMember(ctx context.Context) (map[string]string, error) {
	members, err := c.list(ctx, corev1.SchemeGroupVersion.WithKind("PodList"), client.InNamespace(metav1.NamespaceSystem),
		client.MatchingLabels{"component": "etcd", "tier": "control-plane"})
	if err != nil {
		return nil, err
	}
	clusterID, led := "", false
	for i := range members {
		of := members[i].GetAnnotations()
		if _, removed := of[cloudv1.EtcdMemberRemoved]; removed {
			continue
		}
		clusterID = of[cloudv1.EtcdClusterIDAnnotationName]
		led = led || of[cloudv1.EtcdLeaderFromAnnotationName] != ""
	}
	if clusterID == "" {
		clusterID = randomID()
	}
	out := map[string]string{cloudv1.EtcdClusterIDAnnotationName: clusterID, cloudv1.EtcdMemberIDAnnotationName: randomID()}
	if !led {
		out[cloudv1.EtcdLeaderFromAnnotationName] = time.Now().Format(time.RFC3339)
	}
	return out, nil
}

// randomID is a number that is not 0.
func randomID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[:])|1), 10)
}

// sign makes a certificate for the server's key.
func (s *Server) sign(config certs.Config, ca *x509.Certificate, key *rsa.PrivateKey) (*tls.Certificate, error) {
	signed, err := config.NewSignedCert(s.key, ca, key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", config.CommonName, err)
	}
	return &tls.Certificate{Certificate: [][]byte{signed.Raw}, PrivateKey: s.key, Leaf: signed}, nil
}

// node is the Node of an instance.
func node(i Instance, controlPlane bool) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: i.Name, Labels: map[string]string{}}, Spec: corev1.NodeSpec{ProviderID: i.ProviderID}}
	n.Status.NodeInfo.KubeletVersion = i.Version
	for _, bad := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: bad, Status: corev1.ConditionFalse, Reason: "Sufficient", LastTransitionTime: metav1.Now()})
	}
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now()})
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
		n.Spec.Taints = []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func podTemplate(name, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}}}
}

// Leave removes what an instance that is gone had in the cluster.
func (c *Cluster) Leave(ctx context.Context, name string) error {
	c.server.mu.Lock()
	delete(c.etcd, "etcd-"+name)
	c.server.mu.Unlock()
	objects := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}}
	for _, component := range components {
		objects = append(objects, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: component + "-" + name}})
	}
	for _, o := range objects {
		if err := c.server.store.GetResourceGroup(c.group).GetClient().Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing %T %s from the workload cluster %s: %w", o, o.GetName(), c.group, err)
		}
	}
	return nil
}

// list lists objects. Those that were written through the API are stored without a type, so they are read so.
func (c *Cluster) list(ctx context.Context, kind schema.GroupVersionKind, o ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := c.server.store.GetResourceGroup(c.group).GetClient().List(ctx, list, o...); err != nil {
		return nil, fmt.Errorf("listing %s of the workload cluster %s: %w", kind.Kind, c.group, err)
	}
	return list.Items, nil
}

// Nodes returns the Nodes of the cluster, by name.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	found, err := c.list(ctx, corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err != nil {
		return nil, err
	}
	out := make([]corev1.Node, len(found))
	for i := range found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found[i].Object, &out[i]); err != nil {
			return nil, fmt.Errorf("reading a Node of the workload cluster %s: %w", c.group, err)
		}
	}
	slices.SortFunc(out, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// close ends the cluster.
func (c *Cluster) close() {
	c.server.mu.Lock()
	delete(c.server.clusters, c.endpoint.Port)
	c.server.mu.Unlock()
	_ = c.listener.Close()
	c.server.store.DeleteResourceGroup(c.group)
}
