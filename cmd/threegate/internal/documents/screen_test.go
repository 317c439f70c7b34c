package documents

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// onScreen is a screen of 80 columns and 24 rows, and what presses its keys: a key by its name, or
// text that is typed.
func onScreen(t *testing.T, r *reading, unseen bool) (*screen, func(keys ...string)) {
	t.Helper()
	s := newScreen(r, &approval{file: "TR-x.md"}, false, unseen)
	s.mayApprove = func(name string) error {
		if name == "bob" {
			return errors.New("bob is the requester")
		}
		return nil
	}
	s.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace,
		"space": tea.KeySpace, "end": tea.KeyEnd}
	return s, func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			switch code, ok := special[k]; {
			case k == "space":
				s.Update(tea.KeyPressMsg{Code: code, Text: " "})
			case ok:
				s.Update(tea.KeyPressMsg{Code: code})
			case k == "ctrl+c":
				s.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
			default:
				for _, c := range k {
					s.Update(tea.KeyPressMsg{Code: c, Text: string(c)})
				}
			}
		}
	}
}

func longReading(lines int) *reading {
	r := &reading{}
	r.numbered(strings.Repeat("a line\n", lines))
	return r
}

// TestScreenApprovesOnlyWhatWasShown: a jump to the end shows nothing of the middle.
func TestScreenApprovesOnlyWhatWasShown(t *testing.T) {
	s, press := onScreen(t, longReading(100), false)
	press("G", "a")
	if s.ask != "" || !strings.Contains(s.message, "60 lines were not shown yet") {
		t.Fatalf("asks %q, says %q", s.ask, s.message)
	}
	if s.view.YOffset() != 20 {
		t.Errorf("the first line that was not shown is not on the screen: offset %d", s.view.YOffset())
	}
	press("space", "space", "space", "a")
	if s.ask != askName {
		t.Fatalf("all was shown, and it says %q", s.message)
	}
	press("enter")
	if s.decision != decisionNone || s.ask == "" {
		t.Fatal("it took somebody for the approver who gave no name")
	}
	press("bob", "enter")
	if s.decision != decisionNone || s.message != "bob is the requester" {
		t.Fatalf("decision %q, says %q", s.decision, s.message)
	}
	press("a", "alicf", "backspace", "e", "enter")
	if s.decision != decisionApprove || s.name != "alice" {
		t.Errorf("decision %q by %q", s.decision, s.name)
	}
}

// TestScreenKeepsWhatWasShown: another size of the terminal forgets no line that was shown whole, and
// makes none of a line of which only a part was.
func TestScreenKeepsWhatWasShown(t *testing.T) {
	s, press := onScreen(t, longReading(30), false)
	press("space")
	s.Update(tea.WindowSizeMsg{Width: 40, Height: 10})
	if _, n := s.missing(); n != 0 {
		t.Errorf("%d lines are not shown any more", n)
	}
	r := &reading{}
	r.say("", strings.Repeat("x", 80*30))
	s, press = onScreen(t, r, false)
	if _, n := s.missing(); n != 1 {
		t.Error("a line counts as shown of which a part was")
	}
	press("end")
	if _, n := s.missing(); n != 0 {
		t.Error("a line that was shown in two parts does not count as shown")
	}
}

func TestScreenUnseen(t *testing.T) {
	r := longReading(3)
	r.unseen = []string{"/in/photo.png is not text"}
	s, press := onScreen(t, r, false)
	press("a")
	if s.ask != "" || !strings.Contains(s.message, "--unseen") {
		t.Errorf("asks %q, says %q", s.ask, s.message)
	}
	s, press = onScreen(t, r, true)
	press("a", "alice", "enter")
	if s.decision != decisionApprove {
		t.Errorf("with --unseen: decision %q, says %q", s.decision, s.message)
	}
}

func TestScreenRefusesAndLeaves(t *testing.T) {
	s, press := onScreen(t, longReading(100), false) // to refuse, nobody has to read on
	press("r", "too wide", "esc")
	if s.ask != "" || s.decision != decisionNone {
		t.Errorf("after esc: asks %q, decision %q", s.ask, s.decision)
	}
	press("r", "too", "space", "wide", "enter", "bob", "enter")
	if s.decision != decisionRefuse || s.name != "bob" || s.reason != "too wide" {
		t.Errorf("decision %q by %q: %q", s.decision, s.name, s.reason)
	}
	for _, key := range []string{"q", "ctrl+c"} {
		s, press := onScreen(t, longReading(3), false)
		press(key)
		if s.decision != decisionNone {
			t.Errorf("%s: decision %q", key, s.decision)
		}
	}
	s, press = onScreen(t, longReading(3), false)
	press("a", "alice", "ctrl+c")
	if s.decision != decisionNone {
		t.Errorf("ctrl+c in an answer: decision %q", s.decision)
	}
}

// TestScreenCutsNothingOff: every row of every line is on the screen, in any width, also of letters
// of which programs disagree how wide they are.
func TestScreenCutsNothingOff(t *testing.T) {
	r := &reading{}
	text := strings.Repeat("漢字 👩🏽 각 각 é ☺ ", 20)
	r.numbered(text)
	want := strings.ReplaceAll(r.lines[0].text, " ", "")
	for _, width := range []int{20, 33, 80, 160} {
		s, _ := onScreen(t, r, false)
		s.Update(tea.WindowSizeMsg{Width: width, Height: 200})
		var got strings.Builder
		for row := range strings.SplitSeq(s.view.View(), "\n") {
			if ansi.StringWidth(row) > width {
				t.Errorf("width %d: %q has %d", width, row, ansi.StringWidth(row))
			}
			got.WriteString(string([]rune(row + strings.Repeat(" ", 8))[8:]))
		}
		seen := strings.NewReplacer(" ", "", "┊", "").Replace(got.String())
		if seen != want {
			t.Errorf("width %d: shown is\n%q, not\n%q", width, seen, want)
		}
		for i, row := range strings.Split(s.View().Content, "\n") {
			if ansi.StringWidth(row) > width {
				t.Errorf("width %d: row %d of the screen has %d", width, i, ansi.StringWidth(row))
			}
		}
	}
}
