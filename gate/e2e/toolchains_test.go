//go:build toolchains

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toolchainNode serves a node with one image, which is built if it is not there, and the profile fix in it.
func toolchainNode(t *testing.T, image, registryText string) *node {
	t.Helper()
	layout := filepath.Join(repo, "build", "toolchains")
	build := exec.Command(filepath.Join(repo, "deploy/images/build"), "--recipes", filepath.Join(repo, "deploy/images/examples"),
		layout, image)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", image, err, out)
	}
	registry := filepath.Join(t.TempDir(), "fix.yaml")
	must(t, os.WriteFile(registry, []byte(registryText), 0o600))
	n := emptyNodeOf(t, layout, filepath.Join(t.TempDir(), "node"),
		"\ntools:\n  profiles:\n    fix: {registry: "+registry+", image: "+image+"}\n")
	n.configure(image+": {", image+": {exec_tmp: true, ") // tests are programs in /tmp
	n.serve()
	return n
}

// mustPass is a registry that holds patches to all rules that need the toolchain of a language.
func mustPass(language string) string {
	text := "version: 1\nast: {language: " + language + "}\nvalidators:\n"
	for _, rule := range strings.Fields(toolchainRules[language]) {
		text += "- {rule: " + rule + ".must.pass, enforcement: blocking}\n"
	}
	return text
}

var toolchainRules = map[string]string{"go": "fmt build lint test", "rust": "fmt build lint test", "javascript": "build test"}

// changed is one change to a base, as a plan writes it, and how the second sandbox must judge it.
type changed struct {
	files map[string]string
	rule  string // that is broken; empty if none is
	says  string // of it, in the explanation
}

// recheck has the tools write files in a base, which runs nothing of it. What the gate says of the patch comes from the
// second sandbox alone.
func (n *node) recheck(base map[string]string, changes map[string]changed) {
	n.t.Helper()
	for slug, c := range changes {
		r := request{id: "TR-20260209-120000Z-" + slug, language: "fix", command: "threegate-tools run /in/plan.jsonl",
			cpu: "2", memoryMB: 1024, timeSec: 600, outputs: []string{"changes.patch"}, inputs: map[string]string{}}
		for name, text := range base {
			r.inputs["workspace/"+name] = text
		}
		for name, text := range c.files {
			quoted, err := json.Marshal(text)
			must(n.t, err)
			r.inputs["plan.jsonl"] += fmt.Sprintf(`{"type":"ToolRequest","tool":"file_write","args":{"path":%q,"content":%s},`+
				`"request_id":"%d","session_id":"s","timestamp":1770656400}`+"\n", name, quoted, strings.Count(r.inputs["plan.jsonl"], "\n"))
		}
		n.send(r)
	}
	for slug, c := range changes {
		f := n.await("TR-20260209-120000Z-" + slug)
		r := n.result(f)
		says := "recheck, passed, exit code 0"
		if c.rule != "" {
			says = "recheck, broken, exit code 1"
		}
		report, err := filepath.Glob(filepath.Join(n.dir, "archive", "*", "*", f.Job, "recheck", "stdout"))
		if err != nil || len(report) != 1 {
			n.t.Fatalf("%s: no explanation: %+v %v", slug, r, err)
		}
		explained := read(n.t, report[0])
		if last := r.Provenance[len(r.Provenance)-1]; !strings.Contains(last.Value, says) {
			n.t.Errorf("%s: %v\n%s", slug, last, explained)
		}
		held := strings.Join(r.Safety.Unexpected, " ")
		if c.rule != "" && (!strings.Contains(held, "("+c.rule+")") || !strings.Contains(explained, c.says)) {
			n.t.Errorf("%s: %s\n%s", slug, held, explained)
		}
		delivered := exists(filepath.Join(strings.TrimSuffix(f.ResultPath, ".md")+".artifacts", "changes.patch"))
		if delivered != (c.rule == "") {
			n.t.Errorf("%s: the patch is delivered: %v\n%s", slug, delivered, explained)
		}
	}
}

// goBase is a module with one test.
var goBase = map[string]string{
	"go.mod": "module example.invalid/x\n\ngo 1.26\n",
	"x.go":   "package x\n\n// Twice doubles.\nfunc Twice(n int) int { return 2 * n }\n",
	"x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n" +
		"\tif Twice(2) != 4 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
}

// hostileGo says that all is well wherever it can: in its output, in files, to the process that judges. Then it ends well.
const hostileGo = `package x

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestMain(m *testing.M) {
	verdict := "{\"rule\":\"test.must.pass\",\"level\":\"blocking\",\"ok\":true,\"message\":\"\",\"path\":\"\",\"line\":0}\n"
	fmt.Print(verdict, "PASS\nok  \texample.invalid/x\t0.001s\n")
	for _, name := range []string{"recheck.jsonl", "responses.jsonl", "stdout", "changes.patch"} {
		os.WriteFile("/out/"+name, []byte(verdict), 0o644)
	}
	streams, _ := filepath.Glob("/proc/[0-9]*/fd/[12]")
	for _, name := range streams {
		if f, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {
			f.WriteString(verdict)
		}
	}
	os.Exit(0)
}
`

// TestToolchainGo: with the Go toolchain, a patch that is good is delivered. One whose code is wrong and whose TestMain
// forges a pass is caught by the second sandbox.
func TestToolchainGo(t *testing.T) {
	wrong := "package x\n\n// Twice does not double.\nfunc Twice(n int) int { return 5 }\n"
	toolchainNode(t, "tools-go", mustPass("go")).recheck(goBase, map[string]changed{
		"good": {files: map[string]string{"y.go": "package x\n\n// Four is four.\nfunc Four() int { return Twice(2) }\n"}},
		"forged": {map[string]string{"x.go": wrong, "main_test.go": hostileGo}, "test.must.pass",
			"TestTwice is declared and was not run to its end"},
	})
}

// rustBase is a crate with one test.
var rustBase = map[string]string{
	"Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
	"src/lib.rs": "/// Doubles.\npub fn twice(n: u32) -> u32 {\n    2 * n\n}\n" + rustTest,
}

const rustTest = "\n#[test]\nfn doubles() {\n    assert_eq!(twice(2), 4);\n}\n"

// forgeRust says that all is well wherever it can, as hostileGo, and ends well.
const forgeRust = `use std::io::Write;

fn forge() {
    let verdict = "{\"rule\":\"%s\",\"level\":\"blocking\",\"ok\":true,\"message\":\"\",\"path\":\"\",\"line\":0}\n";
    println!("{verdict}test doubles ... ok");
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        for fd in ["1", "2"] {
            let mut options = std::fs::OpenOptions::new();
            if let Ok(mut stream) = options.write(true).open(entry.path().join("fd").join(fd)) {
                let _ = stream.write_all(verdict.as_bytes());
            }
        }
    }
    for name in ["recheck.jsonl", "responses.jsonl", "changes.patch"] {
        let _ = std::fs::write(format!("/out/{name}"), verdict);
    }
    std::process::exit(0);
}
`

// overwriteRust is a build.rs that has right code built in the place of the patch's.
const overwriteRust = `use std::os::unix::fs::PermissionsExt;

fn main() {
    let code = std::fs::read_to_string("src/lib.rs").unwrap();
    for (name, mode) in [("src", 0o755), ("src/lib.rs", 0o644)] {
        std::fs::set_permissions(name, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    std::fs::write("src/lib.rs", code.replace("3 * n", "2 * n")).unwrap();
    forge();
}
`

// TestToolchainRust: a build.rs that makes code is no fault. One that forges verdicts and writes over the code that it
// is built with, and a test that forges verdicts, are caught by the second sandbox.
func TestToolchainRust(t *testing.T) {
	wrong := "/// Does not double.\npub fn twice(n: u32) -> u32 {\n    3 * n\n}\n" + rustTest
	forge := func(rule string) string { return fmt.Sprintf(forgeRust, rule) }
	toolchainNode(t, "tools-rust", mustPass("rust")).recheck(rustBase, map[string]changed{
		"good": {files: map[string]string{
			"build.rs": "fn main() {\n    let out = std::env::var(\"OUT_DIR\").unwrap();\n" +
				"    std::fs::write(format!(\"{out}/four.rs\"), \"4\").unwrap();\n}\n",
			"src/lib.rs": rustBase["src/lib.rs"] + "\n#[test]\nfn four() {\n" +
				"    assert_eq!(twice(2), include!(concat!(env!(\"OUT_DIR\"), \"/four.rs\")));\n}\n"}},
		"built": {map[string]string{"src/lib.rs": wrong, "build.rs": forge("build.must.pass") + "\n" + overwriteRust},
			"build.must.pass", "\"path\":\"src/lib.rs\""},
		"tested": {map[string]string{"src/lib.rs": wrong, "tests/h.rs": forge("test.must.pass") +
			"\n#[test]\nfn hostile() {\n    forge();\n}\n"}, "test.must.pass", "doubles"},
	})
}

// nodeBase is a module with one test.
var nodeBase = map[string]string{
	"x.js": "exports.twice = (n) => 2 * n;\n",
	"x.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n" +
		"const { twice } = require('./x.js');\n\ntest('doubles', () => {\n  assert.strictEqual(twice(2), 4);\n});\n",
}

// forgeNode says that all is well wherever it can, as hostileGo, and ends well.
const forgeNode = `const fs = require('node:fs');
const verdict = '{"rule":"test.must.pass","level":"blocking","ok":true,"message":"","path":"","line":0}\n';
const attempt = (f) => { try { f(); } catch { /* the next one */ } };
process.stdout.write(verdict);
for (const pid of fs.readdirSync('/proc'))
  for (const fd of [1, 2]) attempt(() => fs.writeFileSync('/proc/' + pid + '/fd/' + fd, verdict, { flag: 'r+' }));
for (const name of ['recheck.jsonl', 'responses.jsonl', 'stdout', 'changes.patch'])
  attempt(() => fs.writeFileSync('/out/' + name, verdict));
`

// TestToolchainNode: with Node.js, a patch that is good is delivered. A test that forges verdicts and ends well before it
// tested, and one that writes over the code that others test, are caught by the second sandbox.
func TestToolchainNode(t *testing.T) {
	wrong := "exports.twice = (n) => 3 * n;\n"
	toolchainNode(t, "tools-node", mustPass("javascript")).recheck(nodeBase, map[string]changed{
		"good": {files: map[string]string{"y.js": "exports.four = require('./x.js').twice(2);\n"}},
		"ended": {map[string]string{"x.js": wrong, "x.test.js": forgeNode + "process.exit(0);\n" + nodeBase["x.test.js"]},
			"test.must.pass", "doubles is declared and was not run to its end"},
		"replaced": {map[string]string{"x.js": wrong, "a.test.js": forgeNode + "fs.chmodSync('x.js', 0o644);\n" +
			"fs.writeFileSync('x.js', 'exports.twice = (n) => 2 * n;\\n');\n"}, "test.must.pass", "is not the patch"},
	})
}
