package report

import (
	"io"
	"strings"
	"sync"

	"github.com/captf-toolkit/captf/sdk/harness"
)

// Widths of the story's columns; a longer text pushes the rest of its line.
const (
	timeWidth   = 9
	actorWidth  = 11
	objectWidth = 34
)

// Story writes the story of a run as it is played, one line a step: virtual
// time, actor, object, event and, for a module run, the real time that it took.
type Story struct {
	mu    sync.Mutex
	w     io.Writer
	paint painter
}

// NewStory returns a story that is written to w, with colours if asked for.
func NewStory(w io.Writer, colors bool) *Story { return &Story{w: w, paint: painter(colors)} }

// Step writes one step. What cannot be written is dropped: the story is told
// for people and decides nothing.
func (s *Story) Step(step harness.StoryStep) {
	text := s.format(step)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.w, text)
}

func (s *Story) format(step harness.StoryStep) string {
	at := virtual(step.At)
	event := line(step.Event)
	switch {
	case step.Actor == "user":
		event = s.paint.paint(bold, event)
	case strings.Contains(event, " fails: "):
		event = s.paint.paint(red, event)
	}
	out := strings.Repeat(" ", max(0, timeWidth-len(at))) + at + "  " +
		pad(line(step.Actor), actorWidth) + "  " + pad(line(step.Object), objectWidth) + "  " + event
	if step.Took > 0 {
		out += s.paint.paint(dim, " ("+real(step.Took)+")")
	}
	return strings.TrimRight(out, " ") + "\n"
}
