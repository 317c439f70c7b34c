package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRecheckOfCommits: the commits of a run are held to rules that the run itself was not held to, as if its program
// had made them. A workspace of plain files makes the same first commit in both.
func TestRecheckOfCommits(t *testing.T) {
	const names = "commit.message.conventional branch.naming.convention"
	for name, c := range map[string]struct {
		bundle          bool
		branch, message string
		rules, level    string
		code            int
		rule, path, say string
	}{
		"good":    {false, "feat/x", "feat: a", names, "blocking", exitOK, "commit.message.conventional", "", ""},
		"message": {false, "feat/x", "wip", names, "blocking", exitReject, "commit.message.conventional", "commits.bundle", "the message is not"},
		"branch":  {true, "X", "feat: a", names, "blocking", exitReject, "branch.naming.convention", "push.bundle", "the branch's name is not"},
		"warning": {true, "feat/x", "wip", names, "warning", exitWarned, "commit.message.conventional", "push.bundle", "the message is not"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if c.bundle {
				source := t.TempDir()
				for _, args := range [][]string{{"init", "-q", "-b", "Trunk"}, {"commit", "-q", "--allow-empty", "-m", "an old one"},
					{"bundle", "create", "-q", filepath.Join(b.in, bundleFile), "HEAD", "Trunk"}} {
					cmd := exec.Command("git", append([]string{"-C", source, "-c", "user.name=a", "-c", "user.email=a@b.invalid"}, args...)...)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("git %q: %v\n%s", args, err, out)
					}
				}
			} else {
				b.write("workspace/old", "old\n")
			}
			b.write(registryFile, "version: 1\ngit: {allow_push: true}\n")
			code, out, errs := b.run(b.plan(`git_checkout {"target":"`+c.branch+`","create":true}`, `file_write {"path":"a","content":"a\n"}`,
				`git_add {"paths":["a"]}`, `git_commit {"message":"`+c.message+`"}`, `git_push {"refspec":"HEAD:refs/heads/`+c.branch+`"}`))
			if code != exitOK {
				t.Fatalf("code %d, %q, %q", code, out, errs)
			}
			for _, made := range []string{changesFile, commitsFile, pushFile} {
				b.write(made, b.read(filepath.Join(b.out, made)))
			}
			registry := b.write(registryFile, "version: 1\nvalidators:"+validators(c.rules, c.level)+"\n")
			got := b.recheckProgram(registry, filepath.Join(b.in, changesFile))
			got.wants(t, c.code, c.rule, c.path, c.say)
			if c.code != exitOK {
				return
			}
			// What can't be read is not judged.
			b.write(commitsFile, "# v2 git bundle\n")
			if got := b.recheckProgram(registry, filepath.Join(b.in, changesFile)); got.code != exitTrouble {
				t.Errorf("a broken bundle: %+v", got)
			}
		})
	}
}
