package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// environment is the environment of a container: the image's, that of a pod in a cluster, envFrom and env, later ones
// first. Values may refer to earlier ones.
func (w *worker) environment(ctx context.Context, c *corev1.Container, img *image) (map[string]string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, e := range img.config.Env {
		k, v, _ := strings.Cut(e, "=")
		env[k] = v
	}
	env["HOSTNAME"] = hostname(w.pod)
	maps.Copy(env, serviceEnvironment(w.k.apiHost, w.k.apiPort))
	for _, from := range c.EnvFrom {
		values, err := w.envFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		maps.Copy(env, values)
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, env)
			continue
		}
		v, ok, err := w.valueFrom(ctx, c, e.ValueFrom)
		if err != nil {
			return nil, err
		}
		if ok {
			env[e.Name] = v
		}
	}
	return env, nil
}

// serviceEnvironment is what tells a pod where the API server is.
func serviceEnvironment(host, port string) map[string]string {
	address := "tcp://" + net.JoinHostPort(host, port)
	prefix := "KUBERNETES_PORT_" + port + "_TCP"
	return map[string]string{
		"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port,
		"KUBERNETES_PORT": address, prefix: address, prefix + "_PROTO": "tcp", prefix + "_PORT": port, prefix + "_ADDR": host,
	}
}

func hostname(p *corev1.Pod) string {
	if p.Spec.Hostname != "" {
		return p.Spec.Hostname
	}
	return strings.Trim(p.Name[:min(len(p.Name), 63)], "-.")
}

// environ is the form that a program gets it in.
func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

func (w *worker) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	var data map[string][]byte
	var found bool
	var err error
	switch {
	case from.SecretRef != nil:
		data, found, err = w.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
	case from.ConfigMapRef != nil:
		data, found, err = w.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	}
	if err != nil || !found {
		return nil, err
	}
	out := map[string]string{}
	for k, v := range data {
		if !strings.Contains(k, "=") {
			out[from.Prefix+k] = string(v)
		}
	}
	return out, nil
}

func (w *worker) valueFrom(ctx context.Context, c *corev1.Container, from *corev1.EnvVarSource) (string, bool, error) {
	switch {
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		data, found, err := w.secret(ctx, r.Name, r.Optional)
		return keyOf(data, found, err, "secret", w.pod.Namespace+"/"+r.Name, r.Key, r.Optional)
	case from.ConfigMapKeyRef != nil:
		r := from.ConfigMapKeyRef
		data, found, err := w.configMap(ctx, r.Name, r.Optional)
		return keyOf(data, found, err, "configMap", w.pod.Namespace+"/"+r.Name, r.Key, r.Optional)
	case from.FieldRef != nil:
		v, err := w.field(from.FieldRef.FieldPath)
		return v, err == nil, err
	case from.ResourceFieldRef != nil:
		v, err := w.resourceField(c, from.ResourceFieldRef)
		return v, err == nil, err
	}
	return "", false, errors.New("environment variables from this source are not supported")
}

func keyOf(data map[string][]byte, found bool, err error, kind, name, key string, optional *bool) (string, bool, error) {
	if err != nil || !found {
		return "", false, err
	}
	v, ok := data[key]
	if !ok && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
	}
	return string(v), ok, nil
}

// field is a field of the pod, as the downward API names them.
func (w *worker) field(path string) (string, error) {
	p := w.seen()
	if head, key, ok := strings.Cut(strings.TrimSuffix(path, "']"), "['"); ok {
		switch head {
		case "metadata.labels":
			return p.Labels[key], nil
		case "metadata.annotations":
			return p.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return p.Name, nil
	case "metadata.namespace":
		return p.Namespace, nil
	case "metadata.uid":
		return string(p.UID), nil
	case "metadata.labels":
		return lines(p.Labels), nil
	case "metadata.annotations":
		return lines(p.Annotations), nil
	case "spec.nodeName":
		return w.k.o.NodeName, nil
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs":
		return loopback, nil
	}
	return "", fmt.Errorf("the field %s of a pod is not supported", path)
}

// lines is the form of labels and annotations in a file.
func lines(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+strconv.Quote(m[k]))
	}
	return strings.Join(out, "\n")
}

// resourceField is a limit or request of a container; a limit that is not set is all that the node has.
func (w *worker) resourceField(c *corev1.Container, r *corev1.ResourceFieldSelector) (string, error) {
	for _, each := range w.specs() {
		if r.ContainerName != "" && each.Name == r.ContainerName {
			c = each
		}
	}
	kind, name, ok := strings.Cut(r.Resource, ".")
	if !ok || c == nil {
		return "", fmt.Errorf("the resource %s of container %q is not supported", r.Resource, r.ContainerName)
	}
	list := c.Resources.Limits
	if kind == "requests" {
		list = c.Resources.Requests
	}
	quantity, ok := list[corev1.ResourceName(name)]
	if !ok && kind == "limits" {
		quantity = capacity()[corev1.ResourceName(name)]
	}
	divisor := r.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return strconv.FormatInt(int64(math.Ceil(float64(quantity.MilliValue())/float64(divisor.MilliValue()))), 10), nil
	}
	return strconv.FormatInt(int64(math.Ceil(float64(quantity.Value())/float64(divisor.Value()))), 10), nil
}

// expand replaces $(NAME) by the variable, if there is one; $$(NAME) stands for $(NAME).
func expand(s string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if s[i+1] == '$' {
			b.WriteByte('$')
			i++
			continue
		}
		end := strings.IndexByte(s[i:], ')')
		if s[i+1] != '(' || end < 0 {
			b.WriteByte(s[i])
			continue
		}
		whole := s[i : i+end+1]
		if v, ok := env[whole[2:end]]; ok {
			b.WriteString(v)
		} else {
			b.WriteString(whole)
		}
		i += end
	}
	return b.String()
}
