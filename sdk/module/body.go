package module

import (
	"slices"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Body is what stands inside a block, after override files were merged in.
//
// In resource, data, ephemeral, provider, module and provisioner blocks it is
// the part without a fixed meaning: the meta-arguments are in the block's
// Attributes instead, and nested blocks such as lifecycle in fields of their
// own.
type Body struct {
	// layers holds the declared body first, then those of override files. The
	// bodies of one layer are united, a later layer overrides earlier ones.
	layers []bodyLayer
}

type bodyLayer struct {
	bodies []hcl.Body
	// hidden names the arguments and blocks that have a fixed meaning.
	hidden map[string]bool
}

func newBody(hidden map[string]bool, bodies ...hcl.Body) Body {
	return Body{layers: []bodyLayer{{bodies: bodies, hidden: hidden}}}
}

// override returns the body with the layers of another one on top.
func (b Body) override(o Body) Body {
	layers := make([]bodyLayer, 0, len(b.layers)+len(o.layers))
	layers = append(layers, b.layers...)
	return Body{layers: append(layers, o.layers...)}
}

// HCL returns the underlying bodies, base first, then those of override files.
func (b Body) HCL() []hcl.Body {
	var out []hcl.Body
	for _, l := range b.layers {
		out = append(out, l.bodies...)
	}
	return out
}

// Attributes returns the arguments by name. An argument in an override file
// replaces the one that it overrides. In JSON syntax nested blocks are
// arguments too, with an object or a list of objects as their value: only a
// provider's schema can tell them apart.
func (b Body) Attributes() hcl.Attributes {
	out := hcl.Attributes{}
	for _, l := range b.layers {
		for _, body := range l.bodies {
			attrs, _ := body.JustAttributes() // complains of blocks, which Blocks returns
			for name, a := range attrs {
				if !l.hidden[name] {
					out[name] = a
				}
			}
		}
	}
	return out
}

// Blocks returns the nested blocks of native syntax in source order. Blocks in
// an override file replace all blocks of the same type, a "dynamic" block
// counting as the type that it makes.
func (b Body) Blocks() []*Block {
	var out []*Block
	for _, l := range b.layers {
		var own []*Block
		replaced := map[string]bool{}
		for _, body := range l.bodies {
			native, ok := body.(*hclsyntax.Body)
			if !ok {
				continue
			}
			for _, nb := range native.Blocks {
				if l.hidden[nb.Type] {
					continue
				}
				own = append(own, nativeBlock(nb))
				replaced[madeType(nb.Type, nb.Labels)] = true
			}
		}
		kept := out[:0:0]
		for _, ob := range out {
			if !replaced[madeType(ob.Type, ob.Labels)] {
				kept = append(kept, ob)
			}
		}
		out = slices.Concat(kept, own)
	}
	return out
}

// Walk calls visit for every argument in the body and in nested blocks, in
// source order. The path names the blocks around the argument, outermost first;
// it is only valid during the call.
func (b Body) Walk(visit func(path []string, attr *hcl.Attribute)) { b.walk(nil, visit) }

func (b Body) walk(path []string, visit func([]string, *hcl.Attribute)) {
	for _, a := range sortedAttributes(b.Attributes()) {
		visit(path, a)
	}
	for _, nb := range b.Blocks() {
		nb.Body.walk(append(path[:len(path):len(path)], nb.Type), visit)
	}
}

// madeType is the type of the blocks that a block stands for.
func madeType(typ string, labels []string) string {
	if typ == "dynamic" && len(labels) > 0 {
		return labels[0]
	}
	return typ
}

func nativeBlock(nb *hclsyntax.Block) *Block {
	return &Block{
		Type:        nb.Type,
		Labels:      nb.Labels,
		DefRange:    nb.DefRange(),
		TypeRange:   nb.TypeRange,
		LabelRanges: nb.LabelRanges,
		Range:       nb.Range(),
		Body:        newBody(nil, nb.Body),
	}
}

// sortedAttributes returns attributes in source order.
func sortedAttributes(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return rangeLess(out[i].NameRange, out[j].NameRange) })
	return out
}

func rangeLess(a, b hcl.Range) bool {
	if a.Filename != b.Filename {
		return a.Filename < b.Filename
	}
	if a.Start.Byte != b.Start.Byte {
		return a.Start.Byte < b.Start.Byte
	}
	return a.Start.Line < b.Start.Line
}
