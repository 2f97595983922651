package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// set is the metrics as collectors.
type set struct {
	counters   map[string]*k8smetrics.CounterVec
	gauges     map[string]*k8smetrics.GaugeVec
	histograms map[string]*k8smetrics.HistogramVec
	active     *activeJobs
	labels     map[string][]Label
}

// registered are the metrics that are recorded into. They are registered when the package is loaded, because metrics of
// component-base that are not registered drop what is recorded.
var registered = func() *set {
	s := newSet()
	s.register(legacyregistry.MustRegister, legacyregistry.CustomRegister)
	for _, f := range families {
		if f.FromZero {
			s.begin(f.Name, f.Labels, nil)
		}
	}
	ctrlmetrics.Registry = &merged{RegistererGatherer: ctrlmetrics.Registry, more: legacyregistry.DefaultGatherer}
	return s
}()

func newSet() *set {
	s := &set{
		counters:   map[string]*k8smetrics.CounterVec{},
		gauges:     map[string]*k8smetrics.GaugeVec{},
		histograms: map[string]*k8smetrics.HistogramVec{},
		labels:     map[string][]Label{},
	}
	for _, f := range families {
		var names []string
		for _, l := range f.Labels {
			names = append(names, l.Name)
		}
		s.labels[f.Name] = f.Labels
		switch {
		case f.Name == activeName:
			s.active = &activeJobs{desc: k8smetrics.NewDesc(f.Name, f.Help, names, nil, k8smetrics.ALPHA, "")}
		case f.Type == Counter:
			s.counters[f.Name] = k8smetrics.NewCounterVec(&k8smetrics.CounterOpts{
				Name: f.Name, Help: f.Help, StabilityLevel: k8smetrics.ALPHA,
			}, names)
		case f.Type == Gauge:
			s.gauges[f.Name] = k8smetrics.NewGaugeVec(&k8smetrics.GaugeOpts{
				Name: f.Name, Help: f.Help, StabilityLevel: k8smetrics.ALPHA,
			}, names)
		case f.Type == Histogram:
			s.histograms[f.Name] = k8smetrics.NewHistogramVec(&k8smetrics.HistogramOpts{
				Name: f.Name, Help: f.Help, Buckets: f.Buckets, StabilityLevel: k8smetrics.ALPHA,
			}, names)
		}
	}
	return s
}

// register registers the metrics. A family that cannot be registered is a mistake in the table, so it panics.
func (s *set) register(must func(...k8smetrics.Registerable), custom func(k8smetrics.StableCollector) error) {
	for _, m := range s.counters {
		must(m)
	}
	for _, m := range s.gauges {
		must(m)
	}
	for _, m := range s.histograms {
		must(m)
	}
	if err := custom(s.active); err != nil {
		panic(err)
	}
}

// begin makes a counter's series for all values of its labels, given those of the first.
func (s *set) begin(name string, labels []Label, values []string) {
	if len(labels) == 0 {
		s.add(name, 0, values...)
		return
	}
	for _, v := range labels[0].Values {
		s.begin(name, labels[1:], append(slices.Clone(values), v))
	}
}

// values returns the values of a family's labels, each bounded by what its label may be.
func (s *set) values(name string, values []string) []string {
	out := slices.Clone(values)
	for i, l := range s.labels[name] {
		if l.Values != nil && !slices.Contains(l.Values, out[i]) {
			out[i] = Other
		}
	}
	return out
}

func (s *set) add(name string, n float64, values ...string) {
	s.counters[name].WithLabelValues(s.values(name, values)...).Add(n)
}

func (s *set) observe(name string, v float64, values ...string) {
	s.histograms[name].WithLabelValues(s.values(name, values)...).Observe(v)
}

func (s *set) gauge(name string, v float64, values ...string) {
	s.gauges[name].WithLabelValues(s.values(name, values)...).Set(v)
}

func (s *set) drop(name string, values ...string) {
	s.gauges[name].DeleteLabelValues(s.values(name, values)...)
}

// merged serves two registries as one: what component-base has too, such as go_* and process_*, is controller-runtime's.
type merged struct {
	ctrlmetrics.RegistererGatherer
	more k8smetrics.Gatherer
}

// Gather gathers both registries.
func (m *merged) Gather() ([]*dto.MetricFamily, error) {
	first, err := m.RegistererGatherer.Gather()
	if err != nil {
		return first, err
	}
	have := make(map[string]bool, len(first))
	for _, f := range first {
		have[f.GetName()] = true
	}
	return prometheus.Gatherers{
		prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return first, nil }),
		prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			second, err := m.more.Gather()
			return slices.DeleteFunc(second, func(f *dto.MetricFamily) bool { return have[f.GetName()] }), err
		}),
	}.Gather()
}

const activeName = "captf_jobs_active"

// ActiveJob is a kind of object and an operation.
type ActiveJob struct {
	Kind, Operation string
}

// activeJobs counts Jobs when it is asked.
type activeJobs struct {
	k8smetrics.BaseStableCollector
	desc *k8smetrics.Desc

	lock  sync.Mutex
	count func() map[ActiveJob]int
}

// DescribeWithStability tells what is collected.
func (a *activeJobs) DescribeWithStability(ch chan<- *k8smetrics.Desc) { ch <- a.desc }

// CollectWithStability counts.
func (a *activeJobs) CollectWithStability(ch chan<- k8smetrics.Metric) {
	a.lock.Lock()
	count := a.count
	a.lock.Unlock()
	if count == nil {
		return
	}
	// Jobs whose labels say something unknown fall together, and a series may be sent only once.
	sums := map[ActiveJob]int{}
	for job, n := range count() {
		v := registered.values(activeName, []string{job.Kind, job.Operation})
		sums[ActiveJob{v[0], v[1]}] += n
	}
	for job, n := range sums {
		ch <- k8smetrics.NewLazyConstMetric(a.desc, k8smetrics.GaugeValue, float64(n), job.Kind, job.Operation)
	}
}

// ActiveJobs sets what counts the Jobs that have not ended, from a cache: it is called whenever metrics are read, by
// several goroutines at a time. The last one that is set counts.
func ActiveJobs(count func() map[ActiveJob]int) {
	registered.active.lock.Lock()
	defer registered.active.lock.Unlock()
	registered.active.count = count
}
