package module

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/sync/errgroup"
)

// Default limits of [Load].
const (
	DefaultMaxFileBytes = 8 << 20
	DefaultMaxFiles     = 2000
	DefaultMaxDepth     = 32
)

// Options changes how a directory is loaded. The zero value is right for most
// callers.
type Options struct {
	// MaxFileBytes is the largest size of one file; 0 means
	// [DefaultMaxFileBytes].
	MaxFileBytes int64
	// MaxFiles is how many module files are read in all; 0 means
	// [DefaultMaxFiles].
	MaxFiles int
	// MaxDepth is how deep local modules may nest; 0 means [DefaultMaxDepth].
	MaxDepth int
}

func (o Options) withDefaults() Options {
	o.MaxFileBytes = cmp.Or(o.MaxFileBytes, DefaultMaxFileBytes)
	o.MaxFiles = cmp.Or(o.MaxFiles, DefaultMaxFiles)
	o.MaxDepth = cmp.Or(o.MaxDepth, DefaultMaxDepth)
	return o
}

// Load reads the module in dir and the local modules that it calls. Anything
// that keeps every runtime from reading it is a [*LoadError]: a directory
// without a module file, a file that cannot be read or parsed, a duplicate
// declaration, an override without a base, an unknown argument.
//
// A local call or a file that leads out of dir is not an error. It is listed in
// [Tree.Escapes] and not read.
func Load(dir string, opts Options) (*Tree, error) {
	abs, err := realDir(dir)
	if err != nil {
		return nil, dirError(dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, dirError(dir, err)
	}
	defer root.Close()
	return load(dir, &source{fsys: root.FS(), abs: filepath.ToSlash(abs), evalLinks: filepath.EvalSymlinks}, opts)
}

// LoadFS is [Load] for the root of a file system, such as an unpacked image
// layer. The name is the absolute path that the root has in its own world, by
// which absolute symbolic links are understood; messages start with it.
func LoadFS(fsys fs.FS, name string, opts Options) (*Tree, error) {
	return load(name, &source{fsys: fsys, abs: path.Clean("/" + name)}, opts)
}

// catchPanics turns a panic, which can only be a mistake in this package or in
// a parser, into an error that names the directory. Fuzzing turns it off.
var catchPanics = true

func load(dir string, src *source, opts Options) (tree *Tree, err error) {
	l := &loader{opts: opts.withDefaults(), src: src, tree: &Tree{Root: dir}, dirs: map[string]*directory{}}
	if catchPanics {
		defer func() {
			if r := recover(); r != nil {
				tree, err = nil, &LoadError{Dir: dir, Files: l.tree.Files, Problems: hcl.Diagnostics{problem(nil, "Internal error",
					"%v while reading %s; please report it together with the module", r, cmp.Or(l.reading, "the directory"))}}
			}
		}()
	}
	return l.load()
}

func realDir(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("is not a directory")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func dirError(dir string, err error) error {
	return &LoadError{
		Dir:      dir,
		Problems: hcl.Diagnostics{problem(nil, "Unreadable module directory", "%s; name a directory that holds .tf or .tofu files", reason(err))},
		cause:    err,
	}
}

// loader loads one tree.
type loader struct {
	opts  Options
	src   *source
	tree  *Tree
	dirs  map[string]*directory
	count int // files read
	// reading is the file that was read last.
	reading string

	problems hcl.Diagnostics
	cause    error
}

// directory is a directory whose files were read, for both runtimes at once.
type directory struct {
	name     string // relative to the root, as the caller spells it
	resolved string
	views    [2]*Module
	// complete says whether the calls of a view were followed.
	complete [2]bool
	empty    [2]bool
}

func (l *loader) load() (*Tree, error) {
	t := l.tree
	root, err := l.directory(".", ".")
	if err != nil {
		return nil, dirError(t.Root, err)
	}
	if root.empty[Terraform] && root.empty[OpenTofu] {
		return nil, &LoadError{Dir: t.Root, Problems: hcl.Diagnostics{problem(nil, "Nothing to read",
			"the directory holds no .tf, .tf.json, .tofu or .tofu.json file; name a module's directory")}}
	}
	for _, r := range Runtimes() {
		if root.empty[r] {
			continue
		}
		l.follow(root, r, nil)
		if r == Terraform {
			t.Terraform = root.views[r]
		} else {
			t.OpenTofu = root.views[r]
		}
	}
	l.choosePrimary()
	slices.SortFunc(t.Files, func(a, b *File) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(t.Escapes, func(a, b Escape) int { return compareRanges(a.Range, b.Range) })
	if l.problems.HasErrors() {
		return nil, l.fail()
	}
	sortProblems(t.Warnings)
	return t, nil
}

// choosePrimary picks the view for contract checks. When each runtime meets
// something that only the other one knows, no runtime loads the module.
func (l *loader) choosePrimary() {
	t := l.tree
	var accepted []*Module
	for _, r := range Runtimes() {
		m := t.View(r)
		if m == nil {
			continue
		}
		for _, sub := range m.Tree()[1:] {
			m.Unsupported = append(m.Unsupported, sub.Unsupported...)
		}
		if len(m.Unsupported) == 0 {
			accepted = append(accepted, m)
		}
	}
	if len(accepted) > 0 {
		t.Primary = accepted[0]
		return
	}
	for _, r := range Runtimes() {
		if m := t.View(r); m != nil {
			l.report(m.Unsupported)
		}
	}
}

func (l *loader) fail() error {
	var errs hcl.Diagnostics
	for _, p := range l.problems {
		if p.Severity == hcl.DiagError {
			errs = append(errs, p)
		}
	}
	sortProblems(errs)
	return &LoadError{Dir: l.tree.Root, Problems: errs, Files: l.tree.Files, cause: l.cause}
}

// report takes over diagnostics, each once: both runtimes' views raise most of
// them.
func (l *loader) report(diags hcl.Diagnostics) {
	for _, p := range diags {
		list := &l.problems
		if p.Severity == hcl.DiagWarning {
			list = &l.tree.Warnings
		}
		if !slices.ContainsFunc(*list, func(o *hcl.Diagnostic) bool { return sameProblem(o, p) }) {
			*list = append(*list, p)
		}
	}
}

func sameProblem(a, b *hcl.Diagnostic) bool {
	if a.Summary != b.Summary || a.Detail != b.Detail || (a.Subject == nil) != (b.Subject == nil) {
		return false
	}
	return a.Subject == nil || *a.Subject == *b.Subject
}

// directory reads a directory, unless it was read already.
func (l *loader) directory(name, resolved string) (*directory, error) {
	if d := l.dirs[name]; d != nil {
		return d, nil
	}
	entries, err := fs.ReadDir(l.src.fsys, resolved)
	if err != nil {
		return nil, err
	}
	d := &directory{name: name, resolved: resolved}
	l.dirs[name] = d
	sets := fileSets(entries)
	parsed := l.parseAll(d, allFiles(sets))
	decls := map[string]*declarations{}
	var viewDiags [2]hcl.Diagnostics
	for _, r := range Runtimes() {
		set := sets[r]
		d.empty[r] = len(set.read) == 0
		var files []*declarations
		for _, f := range set.read {
			decl, seen := decls[f]
			if !seen {
				decl = l.take(path.Join(name, f), path.Join(resolved, f), parsed[f])
				decls[f] = decl
			}
			if decl != nil {
				files = append(files, decl)
			} else {
				l.noteRuntime(path.Join(name, f), r)
			}
		}
		d.views[r], viewDiags[r] = newView(r, name, files)
	}
	if !d.empty[Terraform] && !d.empty[OpenTofu] {
		noteOnly(viewDiags)
	}
	for _, diags := range viewDiags {
		l.report(diags)
	}
	for _, f := range sets[OpenTofu].hidden {
		if decl := decls[f]; decl != nil {
			d.views[OpenTofu].Hidden = append(d.views[OpenTofu].Hidden, decl.file)
		}
	}
	return d, nil
}

// noteOnly says of problems in one view alone which runtime meets them.
func noteOnly(diags [2]hcl.Diagnostics) {
	for _, r := range Runtimes() {
		for _, p := range diags[r] {
			if !slices.ContainsFunc(diags[1-r], func(o *hcl.Diagnostic) bool { return sameProblem(o, p) }) {
				p.Detail += "; it is " + r.String() + " that reads the files this way"
			}
		}
	}
}

// noteRuntime adds a runtime to the escape of a file.
func (l *loader) noteRuntime(name string, r Runtime) {
	for i := range l.tree.Escapes {
		e := &l.tree.Escapes[i]
		if e.Kind == EscapeFile && e.Source == name && !slices.Contains(e.Runtimes, r) {
			e.Runtimes = append(e.Runtimes, r)
		}
	}
}

// parsed is what came of reading one file.
type parsed struct {
	decl *declarations
	// diags are those of the parser and the decoder.
	diags hcl.Diagnostics
	// err is why the file was not read.
	err error
	// panicked is what a mistake in a parser panicked with.
	panicked any
}

// parse reads, parses and decodes one file. It runs beside others and touches
// nothing of the loader but what does not change.
func (l *loader) parse(name, at string) (p parsed) {
	if catchPanics {
		defer func() { p.panicked = recover() }()
	}
	resolved, err := l.src.resolve(at)
	if err != nil {
		return parsed{err: err}
	}
	src, err := l.src.readFile(resolved, l.opts.MaxFileBytes)
	if err != nil {
		return parsed{err: err}
	}
	f, diags := parseFile(name, src)
	if diags.HasErrors() {
		return parsed{decl: &declarations{file: f}, diags: diags}
	}
	decl, more := decodeFile(f)
	return parsed{decl: decl, diags: append(diags, more...)}
}

// parseAll parses the files of a directory, several at a time, as far as the
// limit on files allows.
func (l *loader) parseAll(d *directory, names []string) map[string]parsed {
	names = names[:min(len(names), max(l.opts.MaxFiles-l.count, 0))]
	results := make([]parsed, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			results[i] = l.parse(path.Join(d.name, name), path.Join(d.resolved, name))
			return nil
		})
	}
	_ = g.Wait() // what went wrong is in the results
	out := make(map[string]parsed, len(names))
	for i, name := range names {
		out[name] = results[i]
	}
	return out
}

// take adds a file that was parsed to the tree; nil when that failed, which is
// reported then, or when it leads out of the root.
func (l *loader) take(name, at string, p parsed) *declarations {
	where := hcl.Range{Filename: name}
	l.reading = name
	if l.count++; l.count > l.opts.MaxFiles {
		if l.count == l.opts.MaxFiles+1 {
			l.report(hcl.Diagnostics{problem(&where, "Too many files", "a module has at most %d files; check that this is a module's directory", l.opts.MaxFiles)})
		}
		return nil
	}
	switch {
	case p.panicked != nil:
		panic(p.panicked)
	case errors.Is(p.err, errOutside):
		l.tree.Escapes = append(l.tree.Escapes, Escape{
			Kind: EscapeFile, Source: name, Target: l.linkTarget(at),
			Range: hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos},
		})
		return nil
	case p.err != nil:
		l.cause = cmp.Or(l.cause, p.err)
		l.report(hcl.Diagnostics{problem(&where, "Unreadable file", "%s; fix or remove it", reason(p.err))})
		return nil
	}
	l.tree.Files = append(l.tree.Files, p.decl.file)
	l.report(p.diags)
	return p.decl
}

// linkTarget is where a symbolic link points, for messages.
func (l *loader) linkTarget(at string) string {
	target, _ := fs.ReadLink(l.src.fsys, at)
	return target
}

// follow loads the local modules that a view calls. The stack holds the
// directories of the modules that are being followed, outermost first.
func (l *loader) follow(d *directory, r Runtime, stack []*directory) {
	if d.complete[r] {
		return
	}
	d.complete[r] = true
	stack = append(stack[:len(stack):len(stack)], d)
	for _, c := range d.views[r].Calls {
		l.call(c, d, r, stack)
	}
}

func (l *loader) call(c *ModuleCall, d *directory, r Runtime, stack []*directory) {
	a := c.Attr("source")
	if a == nil {
		return // was reported as missing
	}
	var ok bool
	if c.Source, ok = d.views[r].staticString(a.Expr); !ok {
		c.Kind = SourceUnknown
		if isConstant(a.Expr) {
			l.report(hcl.Diagnostics{problem(a.Expr.Range().Ptr(), "Unsuitable value", "source must be a string")})
		}
		return
	}
	c.Kind = sourceKind(c.Source)
	switch c.Kind {
	case SourceRefused:
		l.escape(EscapeBarePath, c, a, c.Source, r)
		return
	case SourceAbsolute:
		l.escape(EscapeAbsolute, c, a, c.Source, r)
		return
	case SourceRemote:
		return
	}
	name, resolved, err := l.locate(d.name, c.Source)
	switch {
	case errors.Is(err, errOutside):
		l.escape(EscapeOutside, c, a, path.Join(d.name, strings.ReplaceAll(c.Source, `\`, "/")), r)
		return
	case errors.Is(err, fs.ErrPermission):
		l.unreadable(a, name, err)
		return
	case err != nil:
		l.escape(EscapeUnresolved, c, a, name, r)
		return
	}
	if i := slices.IndexFunc(stack, func(s *directory) bool { return s.resolved == resolved }); i >= 0 {
		var cycle []string
		for _, s := range stack[i:] {
			cycle = append(cycle, s.name)
		}
		l.escape(EscapeCycle, c, a, strings.Join(append(cycle, name), " -> "), r)
		return
	}
	if len(stack) > l.opts.MaxDepth {
		l.report(hcl.Diagnostics{problem(c.DefRange.Ptr(), "Modules nested too deeply", "local modules may call each other %d levels deep", l.opts.MaxDepth)})
		return
	}
	child, err := l.directory(name, resolved)
	if errors.Is(err, fs.ErrPermission) {
		l.unreadable(a, name, err)
		return
	}
	if err != nil || (child.empty[Terraform] && child.empty[OpenTofu]) {
		l.escape(EscapeUnresolved, c, a, name, r)
		return
	}
	c.Module = child.views[r]
	l.follow(child, r, stack)
}

// unreadable reports a called directory that is there but must not be read, so
// that nothing is known of the module it may hold.
func (l *loader) unreadable(source *hcl.Attribute, name string, err error) {
	l.cause = cmp.Or(l.cause, err)
	l.report(hcl.Diagnostics{problem(source.Range.Ptr(), "Unreadable module directory", "reading %s: %s; allow to read it", name, reason(err))})
}

// locate finds the directory that a local source names. The runtimes join the
// source to the caller's path as it is spelled, and follow links afterwards.
func (l *loader) locate(from, source string) (name, resolved string, err error) {
	clean, _ := localSource(source)
	name, err = l.src.relative(path.Join(l.src.abs, from, clean))
	if err != nil {
		return path.Join(from, clean), "", err
	}
	resolved, err = l.src.resolve(name)
	if err != nil {
		return name, "", err
	}
	info, err := fs.Lstat(l.src.fsys, resolved)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: is not a directory", name)
	}
	return name, resolved, err
}

func (l *loader) escape(kind EscapeKind, c *ModuleCall, a *hcl.Attribute, target string, r Runtime) {
	e := Escape{Kind: kind, Call: c.Name, Source: c.Source, Target: target, Range: a.Range}
	for i := range l.tree.Escapes {
		o := &l.tree.Escapes[i]
		if o.Kind == e.Kind && o.Range == e.Range {
			o.Runtimes = append(o.Runtimes, r)
			return
		}
	}
	e.Runtimes = []Runtime{r}
	l.tree.Escapes = append(l.tree.Escapes, e)
}

func sortProblems(diags hcl.Diagnostics) {
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		var ra, rb hcl.Range
		if a.Subject != nil {
			ra = *a.Subject
		}
		if b.Subject != nil {
			rb = *b.Subject
		}
		return cmp.Or(compareRanges(ra, rb), cmp.Compare(a.Summary, b.Summary), cmp.Compare(a.Detail, b.Detail))
	})
}

func compareRanges(a, b hcl.Range) int {
	return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Start.Byte, b.Start.Byte), cmp.Compare(a.Start.Line, b.Start.Line))
}
