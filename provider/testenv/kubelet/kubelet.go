package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/captf-toolkit/captf/images/unpack"
)

// loopback is the address of the node and of all its pods.
const loopback = "127.0.0.1"

// Options say how to run pods. Only Config is needed.
type Options struct {
	// Config is that of a client that may do everything.
	Config *rest.Config
	// NodeName is the name of the node that is registered; empty is testenv.
	NodeName string
	// Dir is where pods, images and logs are kept; empty is a new temporary directory, which Stop removes.
	Dir string
	// Images keeps unpacked images, also for other kubelets; empty is below Dir. Containers are fastest when it is on the
	// same file system as Dir.
	Images string
	// Isolation is how containers are kept from this machine; empty is IsolateAuto.
	Isolation Isolation
	// ImageBackoff and RestartBackoff are the pauses after a first failure to pull an image and after a first restart,
	// doubled up to thirty times as long; 0 is a second, where kubelets take ten.
	ImageBackoff, RestartBackoff time.Duration
	// VolumeSync is how often volumes are brought up to date; 0 is a minute, as with kubelets.
	VolumeSync time.Duration
	// Progress gets a line now and then; nil is silent.
	Progress func(line string)
}

// Kubelet is a node that runs pods.
type Kubelet struct {
	o         Options
	clients   kubernetes.Interface
	events    record.EventRecorder
	images    *imageStore
	isolation IsolationReport
	jailed    bool // containers run in namespaces
	proc      bool // which have /proc
	allUsers  bool // files and processes can belong to anybody
	apiHost   string
	apiPort   string
	dir       string
	ownDir    bool

	ctx    context.Context //nolint:containedctx // ends with Stop
	cancel context.CancelFunc
	wg     sync.WaitGroup
	stop   []func()

	mu       sync.Mutex
	workers  map[types.UID]*worker
	byName   map[types.NamespacedName]*worker
	binding  map[types.UID]bool
	waiting  map[types.UID]*corev1.Pod // for a node that is not cordoned
	cordoned bool
	stopping bool
}

// Start registers the node and runs pods until Stop, also when ctx has ended.
func Start(ctx context.Context, o Options) (*Kubelet, error) {
	if o.NodeName == "" {
		o.NodeName = "testenv"
	}
	for _, d := range []*time.Duration{&o.ImageBackoff, &o.RestartBackoff} {
		if *d <= 0 {
			*d = time.Second
		}
	}
	if o.VolumeSync <= 0 {
		o.VolumeSync = time.Minute
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	k := &Kubelet{
		o: o, workers: map[types.UID]*worker{}, byName: map[types.NamespacedName]*worker{}, binding: map[types.UID]bool{}, waiting: map[types.UID]*corev1.Pod{},
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = "testenv-kubelet"
	var err error
	if k.clients, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("starting the kubelet: %w", err)
	}
	if k.apiHost, k.apiPort, err = hostPort(config.Host); err != nil {
		return nil, fmt.Errorf("starting the kubelet: %w", err)
	}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := k.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the kubelet: %w", err), k.Stop())
	}
	return k, nil
}

func (k *Kubelet) start(ctx context.Context) (err error) {
	k.dir = k.o.Dir
	if k.dir == "" {
		if k.dir, err = os.MkdirTemp("", "testenv-kubelet-"); err != nil {
			return err
		}
		k.ownDir = true
	}
	if k.dir, err = filepath.Abs(k.dir); err != nil {
		return err
	}
	for _, d := range []string{"pods", "logs"} {
		if err := os.MkdirAll(filepath.Join(k.dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := k.isolate(); err != nil {
		return err
	}
	images := k.o.Images
	if images == "" {
		images = filepath.Join(k.dir, "images")
	}
	k.images = newImageStore(images, k.allUsers)

	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: k.clients.CoreV1().Events("")})
	k.stop = append(k.stop, broadcaster.Shutdown)
	k.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: k.o.NodeName})

	if err := k.register(ctx); err != nil {
		return err
	}
	informer := cache.NewSharedInformer(cache.NewListWatchFromClient(k.clients.CoreV1().RESTClient(), "pods", "", fields.Everything()), &corev1.Pod{}, 0)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.handle(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { k.handle(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = d.Obj
			}
			if p, ok := o.(*corev1.Pod); ok {
				k.gone(p)
			}
		},
	}); err != nil {
		return err
	}
	k.wg.Go(func() { informer.RunWithContext(k.ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("listing pods: %w", ctx.Err())
	}
	return nil
}

// Stop kills all pods, without a word to the API server, as if the machine was switched off, and removes the node. Calls after the first do nothing.
func (k *Kubelet) Stop() error {
	k.mu.Lock()
	if k.stopping {
		k.mu.Unlock()
		return nil
	}
	k.stopping = true
	var all []*worker
	for _, w := range k.workers {
		all = append(all, w)
	}
	k.mu.Unlock()
	for _, w := range all {
		w.die()
	}
	k.cancel()
	k.wg.Wait()
	for _, f := range k.stop {
		f()
	}
	var errs []error
	if k.clients != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		// The API server may be gone already, and nobody needs the node then.
		_ = k.clients.CoreV1().Nodes().Delete(ctx, k.o.NodeName, metav1.DeleteOptions{})
	}
	if k.ownDir {
		errs = append(errs, unpack.Remove(k.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping the kubelet: %w", err)
	}
	return nil
}

// hostPort is where clients reach the API server.
func hostPort(server string) (host, port string, err error) {
	u, err := url.Parse(server)
	if err == nil && u.Host == "" {
		u, err = url.Parse("https://" + server)
	}
	if err != nil {
		return "", "", fmt.Errorf("reading the address of the API server: %w", err)
	}
	if host, port, err = net.SplitHostPort(u.Host); err != nil {
		return u.Host, "443", nil //nolint:nilerr // without a port
	}
	return host, port, nil
}

// capacity is what the node says that it has.
func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("10k"), corev1.ResourceEphemeralStorage: resource.MustParse("64Gi"),
	}
}

// register makes the node, or takes over the one of that name.
func (k *Kubelet) register(ctx context.Context) error {
	nodes := k.clients.CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        k.o.NodeName,
		Labels:      k.labels(),
		Annotations: k.isolation.annotations(),
	}}
	made, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = nodes.Get(ctx, k.o.NodeName, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	now := metav1.Now()
	made.Status.Capacity, made.Status.Allocatable = capacity(), capacity()
	made.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: k.isolation.String(),
		LastHeartbeatTime: now, LastTransitionTime: now,
	}}
	made.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: loopback}, {Type: corev1.NodeHostName, Address: k.o.NodeName}}
	made.Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: imageOS, Architecture: runtime.GOARCH, ContainerRuntimeVersion: "testenv://1", KubeletVersion: "testenv"}
	if _, err := nodes.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reporting the node's status: %w", err)
	}
	return nil
}

// handle is told of every state of every pod.
func (k *Kubelet) handle(p *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopping {
		return
	}
	if p.Spec.NodeName == "" {
		k.schedule(p)
		return
	}
	delete(k.binding, p.UID)
	delete(k.waiting, p.UID)
	if p.Spec.NodeName != k.o.NodeName {
		return
	}
	if w := k.workers[p.UID]; w != nil {
		w.update(p)
		return
	}
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return // it ran before this kubelet was started, or has vanished
	}
	w := newWorker(k, p)
	k.workers[p.UID] = w
	k.byName[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = w
	k.wg.Go(w.run)
}

// gone is told when a pod is no longer there: whatever runs of it has no right to.
func (k *Kubelet) gone(p *corev1.Pod) {
	k.mu.Lock()
	w := k.workers[p.UID]
	delete(k.workers, p.UID)
	delete(k.binding, p.UID)
	delete(k.waiting, p.UID)
	k.mu.Unlock()
	if w != nil {
		w.die()
	}
}
