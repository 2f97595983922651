package flow

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// computable are functions that both runtimes take from the library of the
// language; of known arguments the result is known.
var computable = map[string]function.Function{
	"upper": stdlib.UpperFunc, "lower": stdlib.LowerFunc, "title": stdlib.TitleFunc, "strrev": stdlib.ReverseFunc,
	"trim": stdlib.TrimFunc, "trimspace": stdlib.TrimSpaceFunc, "trimprefix": stdlib.TrimPrefixFunc,
	"trimsuffix": stdlib.TrimSuffixFunc, "chomp": stdlib.ChompFunc, "substr": stdlib.SubstrFunc,
	"format": stdlib.FormatFunc, "join": stdlib.JoinFunc,
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc,
	"max": stdlib.MaxFunc, "min": stdlib.MinFunc,
}

// computed calls a function whose arguments are all known.
func computed(name string, r hcl.Range, args []Value) (Value, bool) {
	f, ok := computable[name]
	if !ok {
		return Value{}, false
	}
	if name == "format" && len(args) > 0 && padded(args[0]) {
		return Value{}, false
	}
	values := make([]cty.Value, 0, len(args))
	for i, arg := range args {
		v, ok := arg.cty()
		if !ok {
			return Value{}, false
		}
		var param *function.Parameter
		if params := f.Params(); i < len(params) {
			param = &params[i]
		} else if param = f.VarParam(); param == nil {
			return Value{}, false
		}
		v, err := convert.Convert(v, param.Type)
		if err != nil {
			return Value{}, false
		}
		values = append(values, v)
	}
	out, err := f.Call(values)
	if err != nil || !out.IsKnown() || out.IsNull() || !out.Type().IsPrimitiveType() {
		return Value{}, false
	}
	return known(out, r), true
}

// padded tells that a format may have a width, which can ask for any amount of
// memory.
func padded(format Value) bool {
	v := format.converted(cty.String, nil)
	return v.Kind != Known || strings.ContainsAny(v.Known.AsString(), "0123456789*")
}

// cty returns a known primitive, or a tuple of such, as the language has it.
func (v Value) cty() (cty.Value, bool) {
	switch v.Kind {
	case Known:
		return v.Known, true
	case Tuple:
		items := make([]cty.Value, 0, len(v.Items))
		for _, item := range v.Items {
			if item.Kind != Known {
				return cty.NilVal, false
			}
			items = append(items, item.Known)
		}
		return cty.TupleVal(items), true
	}
	return cty.NilVal, false
}
