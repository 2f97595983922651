package kubelet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// user is whom a container runs as.
type user struct {
	uid, gid int
	groups   []int
}

// userOf is the user that the pod asks for, nil for that of the image.
func (w *worker) userOf(c *corev1.Container) *int64 {
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		return s.RunAsUser
	}
	if s := w.pod.Spec.SecurityContext; s != nil {
		return s.RunAsUser
	}
	return nil
}

// identity is the user that a container gets.
func (w *worker) identity(c *corev1.Container, img *image) (user, error) {
	var u user
	name, group, _ := strings.Cut(img.config.User, ":")
	asked := w.userOf(c)
	numeric := true
	switch {
	case asked != nil:
		u.uid = int(*asked)
	case name != "":
		var err error
		if u.uid, err = strconv.Atoi(name); err != nil {
			numeric = false
			if u.uid, u.gid, err = lookup(img.dir, "etc/passwd", name); err != nil {
				return user{}, err
			}
		}
	}
	if asked == nil && group != "" {
		var err error
		if u.gid, err = strconv.Atoi(group); err != nil {
			if u.gid, _, err = lookup(img.dir, "etc/group", group); err != nil {
				return user{}, err
			}
		}
	}
	pod, own := w.pod.Spec.SecurityContext, c.SecurityContext
	nonRoot := pod != nil && pod.RunAsNonRoot != nil && *pod.RunAsNonRoot
	if own != nil && own.RunAsNonRoot != nil {
		nonRoot = *own.RunAsNonRoot
	}
	switch {
	case nonRoot && u.uid == 0 && asked != nil:
		return user{}, errors.New("container's runAsUser breaks non-root policy")
	case nonRoot && u.uid == 0:
		return user{}, errors.New("container has runAsNonRoot and image will run as root")
	case nonRoot && !numeric:
		return user{}, fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root", name)
	}
	if pod != nil {
		if pod.RunAsGroup != nil {
			u.gid = int(*pod.RunAsGroup)
		}
		for _, g := range pod.SupplementalGroups {
			u.groups = append(u.groups, int(g))
		}
		if pod.FSGroup != nil {
			u.groups = append(u.groups, int(*pod.FSGroup))
		}
	}
	if own != nil && own.RunAsGroup != nil {
		u.gid = int(*own.RunAsGroup)
	}
	return u, nil
}

// lookup finds a name in the image's passwd or group file: the third field and the fourth, if that is a number.
func lookup(dir, file, name string) (id, second int, err error) {
	f, err := os.OpenInRoot(dir, file)
	if err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Split(lines.Text(), ":")
			if len(fields) < 4 || fields[0] != name {
				continue
			}
			second, _ = strconv.Atoi(fields[3])
			if id, err = strconv.Atoi(fields[2]); err == nil {
				return id, second, nil
			}
		}
	}
	return 0, 0, fmt.Errorf("unable to find user or group %s in %s of the image", name, file)
}

// capabilityBits are the numbers of those that a container may have, see capabilities(7).
var capabilityBits = map[corev1.Capability]int{
	"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "NET_BIND_SERVICE": 10,
}

// capabilities are what root may do in a container: what containers are given by default as far as it has a meaning
// here, without what is dropped.
func capabilities(c *corev1.Container) uint64 {
	var out uint64
	for _, bit := range capabilityBits {
		out |= 1 << bit
	}
	if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
		return out
	}
	for _, d := range c.SecurityContext.Capabilities.Drop {
		if strings.EqualFold(string(d), "ALL") {
			out = 0
		} else if bit, ok := capabilityBits[d]; ok {
			out &^= 1 << bit
		}
	}
	for _, a := range c.SecurityContext.Capabilities.Add {
		if bit, ok := capabilityBits[a]; ok {
			out |= 1 << bit
		}
	}
	return out
}

// keychain has the credentials of the pod's pull secrets; one that is missing is passed over, as kubelets do.
func (w *worker) keychain(ctx context.Context) (authn.Keychain, error) {
	keys := pullSecrets{}
	for _, r := range w.pod.Spec.ImagePullSecrets {
		s, err := w.k.clients.CoreV1().Secrets(w.pod.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			w.warn("FailedToRetrieveImagePullSecret", "Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", r.Name)
			continue
		}
		if err != nil {
			return nil, err
		}
		var file struct {
			Auths map[string]authn.AuthConfig `json:"auths"`
		}
		if err := json.Unmarshal(s.Data[corev1.DockerConfigJsonKey], &file); err != nil {
			return nil, fmt.Errorf("reading pull secret %s: it is no docker config", r.Name) // without its content
		}
		for host, auth := range file.Auths {
			keys[strings.TrimSuffix(strings.TrimPrefix(host, "https://"), "/")] = auth
		}
	}
	return keys, nil
}

// pullSecrets are credentials by registry.
type pullSecrets map[string]authn.AuthConfig

// Resolve implements authn.Keychain.
func (p pullSecrets) Resolve(r authn.Resource) (authn.Authenticator, error) {
	for _, key := range []string{r.String(), r.RegistryStr()} {
		if auth, ok := p[key]; ok {
			return authn.FromConfig(auth), nil
		}
	}
	return authn.Anonymous, nil
}
