package image

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/captf-toolkit/captf/images/rootfs"
)

// user is whom an image runs as.
type user struct {
	// name is what the configuration says.
	name string
	// uid and gids are who that is; known tells that it could be found out.
	uid   int
	gids  []int
	known bool
}

// maxID is the largest user or group that container runtimes take.
const maxID = 1<<31 - 1

// maxAccounts is how large a file of accounts may be, in bytes.
const maxAccounts = 1 << 20

// root tells that the image runs as root. A user that cannot be resolved is none.
func (u user) root() bool { return u.known && u.uid == 0 }

// findUser resolves the user of the configuration: NAME or UID, with :GROUP or
// without.
func (c *checker) findUser(spec string) user {
	u := user{name: spec}
	name, group, grouped := strings.Cut(spec, ":")
	if name == "" {
		name = "0" // what a container runtime takes
	}
	accounts := c.accounts("/etc/passwd", 7)
	uid, err := strconv.Atoi(name)
	u.uid, u.known = uid, err == nil && uid >= 0 && uid <= maxID
	gid := 0
	for _, a := range accounts {
		id, err := strconv.Atoi(a[2])
		if err != nil || !(u.known && id == u.uid || !u.known && a[0] == name) {
			continue
		}
		u.uid, u.known = id, true
		if g, err := strconv.Atoi(a[3]); err == nil {
			gid = g
		}
		name = a[0]
		break
	}
	if !u.known {
		return u
	}
	groups := c.accounts("/etc/group", 4)
	if grouped {
		if gid, u.known = groupID(group, groups); !u.known {
			return u
		}
	}
	u.gids = []int{gid}
	for _, g := range groups {
		id, err := strconv.Atoi(g[2])
		if err != nil {
			continue
		}
		for member := range strings.SplitSeq(g[3], ",") {
			if member == name && !grouped {
				u.gids = append(u.gids, id)
			}
		}
	}
	return u
}

func groupID(group string, groups [][]string) (int, bool) {
	if id, err := strconv.Atoi(group); err == nil {
		return id, id >= 0 && id <= maxID
	}
	for _, g := range groups {
		if id, err := strconv.Atoi(g[2]); err == nil && g[0] == group {
			return id, true
		}
	}
	return 0, false
}

// accounts reads /etc/passwd or /etc/group; a file that cannot be read has none.
func (c *checker) accounts(file string, fields int) [][]string {
	b, err := c.fs.ReadFile(c.ctx, file, maxAccounts)
	if err != nil {
		return nil
	}
	var out [][]string
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if a := strings.Split(lines.Text(), ":"); len(a) >= fields {
			out = append(out, a)
		}
	}
	return out
}

// Permission bits, for the owner; shifted for the group and for others.
const (
	canRead    = 4
	canExecute = 1
)

// may tells whether the user has a permission on an entry. The rights of a user
// that is not known are those of everybody, and root may do all but run what
// nobody may.
func (u user) may(e rootfs.Entry, bit uint32) bool {
	if u.root() {
		return bit != canExecute || e.IsDir() || e.Mode&0o111 != 0
	}
	if u.known {
		if e.UID == u.uid {
			return e.Mode>>6&bit != 0
		}
		if slices.Contains(u.gids, e.GID) {
			return e.Mode>>3&bit != 0
		}
	}
	return e.Mode&bit != 0
}

func (u user) String() string {
	switch {
	case u.name == "":
		return "root"
	case !u.known || strings.HasPrefix(u.name, strconv.Itoa(u.uid)):
		return u.name
	}
	return fmt.Sprintf("%s (%d)", u.name, u.uid)
}
