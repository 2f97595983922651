package flow

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// results gives the type that a function of the language always returns.
var results = func() map[string]cty.Type {
	out := map[string]cty.Type{}
	for t, names := range map[cty.Type][]string{
		cty.String: {
			"abspath", "base64decode", "base64encode", "base64gunzip", "base64gzip", "base64sha256", "base64sha512",
			"basename", "bcrypt", "chomp", "cidrhost", "cidrnetmask", "cidrsubnet", "dirname", "file", "filebase64",
			"filebase64sha256", "filebase64sha512", "filemd5", "filesha1", "filesha256", "filesha512", "format",
			"formatdate", "indent", "join", "jsonencode", "lower", "md5", "pathexpand", "plantimestamp", "replace",
			"rsadecrypt", "sha1", "sha256", "sha512", "strrev", "substr", "templatefile", "textdecodebase64",
			"textencodebase64", "timeadd", "timestamp", "title", "tostring", "trim", "trimprefix", "trimspace",
			"trimsuffix", "upper", "urldecode", "urlencode", "uuid", "uuidv5", "yamlencode",
		},
		cty.Number: {
			"abs", "ceil", "floor", "index", "length", "log", "parseint", "pow", "signum", "strlen", "sum",
			"timecmp", "tonumber", "max", "min",
		},
		cty.Bool: {
			"alltrue", "anytrue", "can", "cidrcontains", "contains", "endswith", "fileexists", "issensitive",
			"startswith", "strcontains", "tobool",
		},
		cty.List(cty.String): {"formatlist", "keys", "split", "cidrsubnets"},
	} {
		for _, name := range names {
			out[name] = t
		}
	}
	return out
}()

// conversions are the functions that convert their one argument, null staying null.
var conversions = map[string]cty.Type{"tostring": cty.String, "tonumber": cty.Number, "tobool": cty.Bool}

// FunctionName returns the name of the function that is called: core::sort is
// the same as sort in both runtimes.
func FunctionName(e *hclsyntax.FunctionCallExpr) string { return strings.TrimPrefix(e.Name, "core::") }

// call evaluates a function call as far as its result is known.
func (a *Analyzer) call(s *Scope, e *hclsyntax.FunctionCallExpr, depth int) Value {
	r, name := e.Range(), FunctionName(e)
	if e.ExpandFinal {
		if t, ok := results[name]; ok {
			return typed(t, r)
		}
		return unknown(r)
	}
	args := make([]Value, 0, len(e.Args))
	for _, arg := range e.Args {
		args = append(args, a.eval(s, arg, depth))
	}
	if t, ok := conversions[name]; ok && len(args) == 1 {
		return args[0].converted(t, nil)
	}
	if v, ok := computed(name, r, args); ok {
		return v
	}
	if t, ok := results[name]; ok {
		return typed(t, r)
	}
	if f, ok := structural[name]; ok && len(args) > 0 {
		return f(r, args)
	}
	return unknown(r)
}

// structural are the functions whose result is built from their arguments.
var structural = map[string]func(r hcl.Range, args []Value) Value{
	"sensitive": first, "nonsensitive": first, "ephemeralasnull": orNull,
	"try": try, "coalesce": coalesce, "one": one, "element": element,
	"lookup": lookup, "merge": merge, "concat": concat, "tolist": tolist,
	"toset": distinct, "sort": sorted, "distinct": distinct, "compact": compact, "reverse": reverse, "slice": slice,
	"flatten": flatten, "values": values, "tomap": tomap, "zipmap": zipmap, "coalescelist": try,
}

func first(_ hcl.Range, args []Value) Value { return args[0] }

func orNull(r hcl.Range, args []Value) Value { return union(r, args[0], null(r)) }

// try returns the arguments up to the first that cannot fail.
func try(r hcl.Range, args []Value) Value {
	for i, v := range args {
		if v.Kind == Known || v.Kind == Null {
			return union(r, args[:i+1]...)
		}
	}
	return union(r, args...)
}

// coalesce returns the first argument that is not null; they get one type.
func coalesce(r hcl.Range, args []Value) Value {
	var alternatives []Value
	for _, v := range unified(args...) {
		for _, alt := range v.Each() {
			if alt.Kind != Null {
				alternatives = append(alternatives, alt)
			}
		}
	}
	return union(r, alternatives...)
}

func one(r hcl.Range, args []Value) Value {
	return args[0].each(func(v Value) Value {
		if v.Kind == Tuple {
			switch len(v.Items) {
			case 0:
				return null(r)
			case 1:
				return v.Items[0]
			}
			return unknown(r)
		}
		item := v.element()
		if item.Kind == Unknown {
			// Such as the instances of a resource: how many there are is as
			// little known as what they hold.
			return unknown(r)
		}
		return union(r, item, null(r))
	})
}

func element(_ hcl.Range, args []Value) Value { return args[0].element() }

func lookup(r hcl.Range, args []Value) Value {
	if len(args) < 2 {
		return unknown(r)
	}
	return args[0].each(func(v Value) Value {
		key := args[1]
		if v.Kind == Object && !v.Open && key.Kind == Known && key.Known.Type() == cty.String {
			if a, ok := v.Attributes[key.Known.AsString()]; ok {
				return a
			}
			if len(args) == 3 {
				return args[2].loosened() // the object may be a map, which has a type of its own
			}
			return unknown(r)
		}
		return union(r, append([]Value{v.element()}, args[2:]...)...)
	})
}

// merge joins objects; what one of them does not tell leaves the result open.
func merge(r hcl.Range, args []Value) Value {
	out := object(make(map[string]Value, len(args)), r)
	for _, v := range args {
		switch v.Kind {
		case Null:
		case Object:
			if v.Open {
				out.open()
			}
			maps.Copy(out.Attributes, v.Attributes)
		default:
			out.open()
		}
	}
	return out
}

// open notes that any attribute may have another value, and others may exist.
func (v *Value) open() {
	v.Open = true
	for name, attr := range v.Attributes {
		v.Attributes[name] = unknown(attr.Range)
	}
}

func flatten(r hcl.Range, args []Value) Value {
	v := args[0]
	var flat []Value
	switch v.Kind {
	case Tuple:
		for _, item := range v.Items {
			if item.Kind != Tuple {
				return list(unknown(r), r)
			}
			flat = append(flat, item.Items...)
		}
		for _, item := range flat {
			switch item.Kind {
			case Known, Object, Null, Map:
			default: // may be a list, which is flattened too
				return list(unknown(r), r)
			}
		}
		return tuple(flat, r)
	case List:
		if v.Item.Kind == List || v.Item.Kind == Tuple {
			switch inner := v.Item.element(); inner.Kind {
			case Known, Object, Map:
				out := list(inner, r)
				out.Conditional = true
				return out
			}
		}
	}
	return list(unknown(r), r)
}

func values(r hcl.Range, args []Value) Value {
	return listOf(args[0].element(), args[0].mayBeEmpty(), r)
}

func zipmap(r hcl.Range, args []Value) Value {
	if len(args) != 2 {
		return unknown(r)
	}
	out := mapOf(args[1].element(), r)
	out.Conditional = true
	return out
}
