package simcloud

import (
	"errors"
	"fmt"
	"regexp"
)

var errNoAddress = errors.New("it has no address that could change")

// ownAddress are names of attributes that hold an address of the object itself.
var ownAddress = regexp.MustCompile(`^(private_|public_|access_|primary_)?(ip|ip_address|ip_v4|ipv4_address)$`)

// Delete removes an object out of band; it reports whether it was there.
func (c *Cloud) Delete(typ, id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(typ, id)
	if o == nil {
		return false
	}
	c.remove(o)
	return true
}

// Alter changes attributes of an object out of band, by path.
func (c *Cloud) Alter(typ, id string, changes map[string]any) error {
	return c.change("changing", typ, id, func(o *Object) error {
		for _, path := range keys(changes) {
			assign(o.Attributes, path, normal(changes[path]))
		}
		return nil
	})
}

// Stop makes an instance one that is stopped, as its type's rule has it, or else by the
// attribute that says how it is.
func (c *Cloud) Stop(typ, id string) error {
	return c.change("stopping", typ, id, func(o *Object) error {
		how := c.rule(o.Source, o.Type).Stopped
		for _, name := range []string{"state", "status", "instance_state", "power_state", "vm_state", "current_status"} {
			if _, is := o.Attributes[name].(string); is && len(how) == 0 {
				how = map[string]any{name: "stopped"}
			}
		}
		if len(how) == 0 {
			return errors.New("how a stopped one looks is not known of this type")
		}
		for _, path := range keys(how) {
			assign(o.Attributes, path, normal(how[path]))
		}
		return nil
	})
}

// Readdress gives an instance other addresses.
func (c *Cloud) Readdress(typ, id string) error {
	return c.change("changing the address of", typ, id, func(o *Object) error {
		rule := c.rule(o.Source, o.Type)
		paths := rule.Addresses
		if len(paths) == 0 {
			for _, name := range keys(o.Attributes) {
				if s, is := o.Attributes[name].(string); is && s != "" && ownAddress.MatchString(name) {
					paths = append(paths, name)
				}
			}
		}
		if len(paths) == 0 {
			return errNoAddress
		}
		seed, err := c.seed("readdress", o.Key)
		if err != nil {
			return err
		}
		ctx := &Context{cloud: c, op: OpUpdate, object: o, seed: seed}
		if b := c.brains[o.Source]; b != nil {
			ctx.settings = b.persona.Settings
		}
		ctx.settings.Account = o.Account
		for _, path := range paths {
			ctx.path = path
			var x any
			if v := rule.Values[path]; v != nil {
				x = v(ctx)
			}
			if x == nil {
				x = ctx.Address("10.0.0.0/8")
			}
			assign(o.Attributes, path, normal(x))
		}
		return nil
	})
}

// change changes one object; doing says what is done for errors.
func (c *Cloud) change(doing, typ, id string, do func(o *Object) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.find(typ, id)
	if old == nil {
		return fmt.Errorf("%s %s %q: there is no such object in the simulated cloud", doing, typ, id)
	}
	o := old.clone()
	if err := do(o); err != nil {
		return fmt.Errorf("%s %s %q: %w", doing, typ, id, err)
	}
	return c.replace(o)
}
