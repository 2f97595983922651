package module

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

// maxNesting is how deep expressions and blocks may nest, operators in a row
// counted like brackets. The parsers recurse, and a program whose stack
// overflows cannot recover.
const maxNesting = 1000

// tooDeep finds where a file nests deeper than maxNesting.
func tooDeep(src []byte, isJSON bool) (hcl.Pos, bool) {
	if roughNesting(src) <= maxNesting {
		return hcl.Pos{}, false // what nearly every file is
	}
	if isJSON {
		return deepJSON(src)
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
	return deepTokens(tokens)
}

// roughNesting is an upper bound of how deep a file nests. It takes comments
// and strings for code, so that it may be far too high.
func roughNesting(src []byte) int {
	depth, deepest, operators := 0, 0, 0
	var last byte
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
			if c == '[' {
				operators++ // a[b][c] nests to the left
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '+', '-', '*', '/', '%', '!', '?', ':', '&', '|', '<', '>':
			operators++
		case '=':
			if last == '=' {
				operators++
			}
		}
		last = c
	}
	return deepest + operators
}

// level is one open bracket and the operators so far in the expression in it.
type level struct {
	chain int
	// lines tells whether a line end ends the expression.
	lines bool
}

// directives tells how the directives of templates nest.
var directives = map[string]int{"if": 1, "for": 1, "endif": -1, "endfor": -1}

func deepTokens(tokens hclsyntax.Tokens) (hcl.Pos, bool) {
	stack := []level{{lines: true}}
	total := 0
	reset := func() {
		top := &stack[len(stack)-1]
		total -= top.chain
		top.chain = 0
	}
	for i, t := range tokens {
		top := &stack[len(stack)-1]
		switch t.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			n := 0
			switch {
			case t.Type == hclsyntax.TokenOBrack: // a[b][c] nests to the left
				n = 1
			case t.Type == hclsyntax.TokenTemplateControl && i+1 < len(tokens):
				n = directives[string(tokens[i+1].Bytes)]
			}
			top.chain += n
			total += n
			stack = append(stack, level{lines: t.Type == hclsyntax.TokenOBrace})
			total++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(stack) > 1 {
				total -= top.chain + 1
				stack = stack[:len(stack)-1]
			}
		case hclsyntax.TokenComma:
			reset()
		case hclsyntax.TokenNewline:
			if top.lines {
				reset()
			}
		case hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenBang, hclsyntax.TokenQuestion, hclsyntax.TokenColon,
			hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
			hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq:
			top.chain++
			total++
		}
		if total > maxNesting {
			return t.Range.Start, true
		}
	}
	return hcl.Pos{}, false
}

// deepJSON is the same for JSON syntax, whose strings hold expressions.
func deepJSON(src []byte) (hcl.Pos, bool) {
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '[', '{':
			if depth++; depth > maxNesting {
				return positionOf(src, i), true
			}
		case ']', '}':
			depth--
		case '"':
			end := stringEnd(src, i)
			if deepString(src[i:end]) {
				return positionOf(src, i), true
			}
			i = end - 1
		}
	}
	return hcl.Pos{}, false
}

// stringEnd returns the offset behind the string literal that starts at i.
func stringEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

func deepString(literal []byte) bool {
	if roughNesting(literal) <= maxNesting {
		return false
	}
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return false // the parser complains of it
	}
	tokens, _ := hclsyntax.LexTemplate([]byte(text), "", hcl.InitialPos)
	_, deep := deepTokens(tokens)
	return deep
}

// deepExpression reports a string in JSON syntax that is to be parsed as an
// expression, not as a template, and nests too deeply.
func (d *decoder) deepExpression(e hcl.Expression) bool {
	if !hcljson.IsJSONExpression(e) {
		return false
	}
	val, diags := e.Value(nil)
	if diags.HasErrors() || val.Type() != cty.String || val.IsNull() || !val.IsKnown() {
		return false
	}
	text := []byte(val.AsString())
	if roughNesting(text) <= maxNesting {
		return false
	}
	tokens, _ := hclsyntax.LexExpression(text, "", hcl.InitialPos)
	if _, deep := deepTokens(tokens); !deep {
		return false
	}
	rng := e.Range()
	d.diags = append(d.diags, nestingProblem(hcl.Range{Filename: rng.Filename, Start: rng.Start, End: rng.Start}))
	return true
}

func nestingProblem(at hcl.Range) *hcl.Diagnostic {
	return problem(&at, "Too deeply nested", "expressions and blocks may nest %d levels deep; simplify", maxNesting)
}
