package toolruntime_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/git"
	"github.com/threegate/tool-exec/toolruntime/registry"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

// A host opens a checkout, lets two calls be made under a registry, and prints what they were.
func Example() {
	ctx, dir := context.Background(), checkout()
	defer os.RemoveAll(dir)
	w, err := workspace.Open(dir)
	if err != nil {
		panic(err)
	}
	repo, err := git.Open(ctx, w)
	if err != nil {
		panic(err)
	}
	rules, err := registry.Parse([]byte("version: 1\nvalidators: [{rule: code.todo.blockers, enforcement: blocking}]\n"))
	if err != nil {
		panic(err)
	}
	var metrics map[string]float64
	session := toolruntime.New(toolruntime.Tools(w, repo, rules), toolruntime.Options{Emit: func(e contract.EventMessage) {
		if e.Metrics != nil { // a call has ended
			metrics = e.Metrics
		}
	}})
	defer session.Close()
	for i, call := range []struct{ tool, args string }{
		{"file_write", `{"path":"src/main.py","content":"print('hello')\n","create_dirs":true}`},
		{"git_status", `{}`},
	} {
		resp := session.Do(ctx, &contract.ToolRequest{Type: "ToolRequest", Tool: call.tool, Args: []byte(call.args),
			RequestID: fmt.Sprint(i), SessionID: "example"})
		if !resp.OK {
			fmt.Println(resp.Errors[0].Message, resp.Errors[0].Hint)
		}
		fmt.Println(call.tool, string(resp.Data))
	}
	fmt.Println(metrics["requests"], "requests,", metrics["errors"], "errors")
	// Output:
	// file_write {"written":true,"bytes":15}
	// git_status {"branch":"main","ahead":0,"behind":0,"changes":[{"path":"src/main.py","status":"?","staged":false,"unstaged":true}]}
	// 2 requests, 0 errors
}

// checkout is a new repository with a commit.
func checkout() string {
	dir, err := os.MkdirTemp("", "checkout-")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("hello\n"), 0o644); err != nil {
		panic(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	return dir
}
