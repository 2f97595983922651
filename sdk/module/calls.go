package module

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// localPrefixes are what makes a source local for both runtimes. They take the
// backslash on every platform.
var localPrefixes = []string{"./", "../", `.\`, `..\`}

// localSource returns the cleaned path of a local source, with slashes.
func localSource(source string) (string, bool) {
	for _, p := range localPrefixes {
		if strings.HasPrefix(source, p) {
			return path.Clean(strings.ReplaceAll(source, `\`, "/")), true
		}
	}
	return "", false
}

// registrySource matches NAMESPACE/NAME/SYSTEM and HOST/NAMESPACE/NAME/SYSTEM,
// with an optional sub-directory.
var registrySource = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^/\s]*[.:][^/\s]*/)?[0-9A-Za-z][-_0-9A-Za-z]*/[0-9A-Za-z][-_0-9A-Za-z]*/[0-9a-z]+(//.*)?$`)
})

// absoluteSource matches absolute paths, also as URLs. The runtimes take them
// like a download from the machine that they run on.
var absoluteSource = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(file::)?(/|[A-Za-z]:[\\/]|file:/)`)
})

// remoteSource matches what the runtimes recognise as a remote address without
// a scheme: the shorthands and the shell form of SSH.
var remoteSource = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(github\.com|bitbucket\.org|gitlab\.com)/|^[^/\s]+@[^/\s]+:|amazonaws\.com/|googleapis\.com/|^[0-9A-Za-z]+::|://`)
})

func sourceKind(source string) SourceKind {
	if _, ok := localSource(source); ok {
		return SourceLocal
	}
	if absoluteSource().MatchString(source) {
		return SourceAbsolute
	}
	if registrySource().MatchString(source) || remoteSource().MatchString(source) {
		return SourceRemote
	}
	return SourceRefused
}
