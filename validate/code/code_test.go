package code

import (
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/document"
)

var languages = []Language{Python, JavaScript, Ruby, Perl}

func kindsOf(lang Language, src string) string {
	var b []string
	for _, t := range Tokens(lang, src) {
		b = append(b, string("N0SXRCP"[t.Kind])+":"+t.Text)
	}
	return strings.Join(b, " ")
}

func TestTokens(t *testing.T) {
	tests := []struct {
		lang      Language
		src, want string
	}{
		{Python, `x = 'a\x2fb' # "no"`, "N:x P:= S:a/b"},
		{Python, `r'\d' b"x" f"a{b["/c"]}d"`, `S:\d S:x N:b P:[ S:/c P:] S:a{}d`},
		{Python, "'''a\n'b'\n''' 1", "S:a\n'b'\n 0:1"},
		{Python, `f"{{x}} {y!r:>{w}}"`, "N:y P:! N:r P:: P:> P:{ N:w P:} S:{x}} {}"},
		{Python, `"open`, "S:open"},
		{JavaScript, "a = /[/'\"]/g.test(b) / c // 'x'\n/* \"y\" */ `q${d + '/z'}r`", "N:a P:= R:/[/'\"]/ P:. " +
			"N:test P:( N:b P:) P:/ N:c N:d P:+ S:/z S:q{}r"},
		{JavaScript, "return /x/", "N:return R:/x/"},
		{Ruby, "puts %w[a /b] # x\ny = %q(a(b)c)", "N:puts S:a P:, S:/b N:y P:= S:a(b)c"},
		{Ruby, "x % y; `ls #{z}`; %x(ps)", "N:x P:% N:y P:; N:z X:ls {} P:; X:ps"},
		{Ruby, `puts /a'b/; 1 / 2 / 3`, "N:puts R:/a'b/ P:; 0:1 P:/ 0:2 P:/ 0:3"},
		{Perl, `my $x = q{a{b}c}; s/'/"/g; $h{y} = qw(a b); # "z"`, `N:my N:$x P:= S:a{b}c P:; R:' R:" P:; N:$h ` +
			`P:{ N:y P:} P:= S:a P:, S:b P:;`},
		{Perl, "print $#a, $/, qx(ls); if ($x =~ m{a'b}) { }\n1", "N:print N:$#a P:, N:$/ P:, " +
			"X:ls P:; N:if P:( N:$x P:=~ R:a'b P:) P:{ P:} 0:1"},
	}
	for _, tt := range tests {
		if got := kindsOf(tt.lang, tt.src); got != tt.want {
			t.Errorf("%s %q:\n got %s\nwant %s", tt.lang, tt.src, got, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		lang      Language
		src, rule string
	}{
		{Python, `open("/etc/passwd")`, "sec.paths.host"},
		{Python, `print("sy", "st", "em")`, ""},
		{Python, `name = "".join(map(chr, letters))`, ""},
		{Python, "codes = [47, 101, 116, 99]\nprint(sum(codes))", ""},
		{Python, `shutil.make_archive("/out/x", "zip", "/home")`, "sec.paths.host"},
		{Python, `libc = ctypes.CDLL("libc.so.6"); libc.unshare(0x20000)`, "sec.privilege"},
		{Python, `group.unshare(x); conn.setns("x")`, ""},
		{Python, `p = "a/../b"; q = "/in/a/../b"`, ""},
		{Python, `p = re.sub("a/", "", "a/../a/../a/../etc/hosts")`, "sec.paths.host"},
		{Python, `p = "/proc/1/root/../../../in/x"`, "sec.paths.host"},
		{Python, `p = "/dev/fd/9/../../../out/x"`, "sec.paths.host"},
		{Python, `p = "/in/a/../../etc/x"`, "sec.paths.host"},
		{Python, `x = [126, 47, 98, 99]; print(chr(data))`, ""},
		{Python, `pd.merge(a, b, "s", "h"); print(x, "g", "db"); f(n, "p", "ty"); f(x, "c", "ommands")`, ""},
		{Python, `d = {"cmd": "pip install"}; call_it(d["cmd"] + " " + pkg)`, "sec.packages"},
		{Python, `f = marshal.loads`, "sec.code.dynamic"},
		{JavaScript, `if (a) { const c = "npm install"; go(c) }`, "sec.packages"},
		{JavaScript, `rotate(mesh, "z", "x")`, ""},
		{Perl, `my $UID = $row->{uid}; our ($GID); $GID = "gene1";`, ""},
		{Python, `p = "a/../../b"`, "sec.paths.host"},
		{Python, `p = "/in/../b"`, "sec.paths.host"},
		{Python, `p = f"{x}/../b"`, "sec.paths.host"},
		{JavaScript, `const words = ['child_process', 'fs']; require(x)`, ""},
		{JavaScript, `const glossary = [['npm install', 'fetches packages']]`, ""},
		{JavaScript, `const steps = ['npm install left-pad', 'node a.js']`, "sec.packages"},
		{Ruby, `text = Base64.decode64('cHV0cyAx'); binding.eval(text)`, "sec.code.dynamic"},
		{Perl, `my $l = "a |"; print $l;`, ""},
		{Perl, `if ($> == 0) { print 1 }`, ""},
		{Python, "from a import b\nimport subprocess", "sec.shell.code"},
		{Python, "def f(e):\n    raise ValueError from e\nimport subprocess", "sec.shell.code"},
		{Python, "def f(x):\n    yield from x\nimport a, subprocess", "sec.shell.code"},
		{Python, "import sys, pip\npip.main(['x'])", "sec.packages"},
		{Python, "from pip._internal.cli import main", "sec.packages"},
		{Python, "from . import installer", ""},
		{Python, "from genres import poetry", ""},
		{Python, "def f(installer):\n    yield from installer", ""},
		{Python, "raise ValueError('no finish') from dnf", ""},
		{Python, "script_args = sys.argv[1:]", ""},
		{Python, "hub.load(data)", ""},
		{Python, "self.cli.download('report.csv')", ""},
		{Python, "from gevent import spawn", ""},
		{Python, `links = ["https://example.org/files/tool_1.0_amd64.deb"]`, ""},
		{Python, `names.append("foo-1.0-py3-none-any.whl")`, ""},
		{Python, `logging.getLogger("pip._internal").setLevel(30)`, ""},
		{Python, `Path("/out/report.md").write_text("Avoid os.system(cmd)")`, ""},
		{Python, `def f(x=Path("/{item}")): pass`, ""},
		{Python, "v = eval(expr)\ndata = conn.read(1024).decode()", "sec.code.dynamic"},
		{JavaScript, `lock = {"resolved": "https://registry.example.org/left-pad/-/left-pad-1.3.0.tgz"}`, ""},
		{JavaScript, `const l = require('@yarnpkg/lockfile')`, ""},
		{JavaScript, `require(["jquery", "./a"], function($, a) {});`, ""},
		{JavaScript, "x = user().homedir;", ""},
		{Ruby, "require 'rubygems/package'; Gem::Package::TarReader.new(f)", ""},
		{Perl, "use CPAN::Meta;", ""},
		{Python, `open("/data/x")`, "sec.paths.host"},
		{Python, `re.sub(r"^(/dev/|/etc/)?", "", name)`, ""},
		{Python, `re.sub("x*", "", "/etc/passwd")`, "sec.paths.host"},
		{Python, `exec(compile("print(open('/etc/passwd').read()[0])", "x", "exec"))`, "sec.paths.host"},
		{Python, `import webbrowser; webbrowser.GenericBrowser(["sh", "-c", "date"]).open("x")`, "sec.shell.code"},
		{Python, `p = "/etc" + "/passwd"`, "sec.paths.host"},
		{Python, `open("\x2fetc\x2fpasswd")`, "sec.paths.host"},
		{Python, `open(f"/etc/{name}")`, "sec.paths.host"},
		{Python, `Path("~/x").expanduser()`, "sec.paths.host"},
		{Python, `open("../secret")`, "sec.paths.host"},
		{Python, `os.path.join("/warehouse", x)`, "sec.paths.host"},
		{Python, `open("/dev/sda", "rb")`, "sec.devices"},
		{Python, `urlopen("file:///etc/passwd")`, "sec.paths.host"},
		{Python, `exec("open('/etc/passwd')")`, "sec.paths.host"},
		{Python, `s.connect("/var/run/docker.sock")`, "sec.paths.host"},
		{Python, `shutil.copy("/warehouse/x", "/out/x")`, "sec.paths.host"},
		{Python, `sqlite3.connect("/warehouse")`, "sec.paths.host"},
		{Python, `row = {"path": "/checkout", "status": 200}; out.write("/n"); seen.remove("/a"); path = "/users"`, ""},
		{Python, `"/".join(["/a", "/b"]); s.replace("/x", "/y"); if_path = p == "/login"`, ""},
		{Python, `# open("/etc/passwd")`, ""},
		{Python, "def f():\n    \"\"\"Like\n    /etc/passwd.\"\"\"\n    return 1", ""},
		{Python, "\"\"\"About /etc/passwd.\"\"\"\nx = 1\n    'like /usr/x and pip install'\n", ""},
		{Python, "run(\n'''cat /etc/passwd\n'''\n)", "sec.paths.host"},
		{Python, "x = \\\n'/etc/passwd'\n", "sec.paths.host"},
		{Python, "import \\\n  subprocess as q\nq.run(1)", "sec.shell.code"},
		{Python, "logging.getLogger('subprocess').setLevel(30)", ""},
		{Python, "print('subprocess'); n = text.count('popen')", ""},
		{Python, `open("/in/x"); open("/out/y", "w"); open("/tmp/z"); open("/dev/null")`, ""},
		{Python, `if line.startswith("/api/users"): n += 1`, ""},
		{Python, `"/".join(parts); a = b / c; s.split("/"); url = "/index.html"; print("km/h", "and/or", ` +
			`"2026/02/09")`, ""},
		{Python, `re.sub(r"\\d+/x", "", s); url_path = "/users"; x["/home"] += 1; ["..", "/"]`, ""},
		{Python, `os.system("ls")`, "sec.shell.code"},
		{Python, `import subprocess`, "sec.shell.code"},
		{Python, `import json, subprocess as s`, "sec.shell.code"},
		{Python, `from subprocess import run`, "sec.shell.code"},
		{Python, `from os import path, system as f`, "sec.shell.code"},
		{Python, `__import__("subprocess").run(x)`, "sec.shell.code"},
		{Python, `import pty; pty.spawn(x)`, "sec.shell.code"},
		{Python, `await asyncio.create_subprocess_exec("x")`, "sec.shell.code"},
		{Python, `exec(base64.b64decode(x))`, "sec.code.dynamic"},
		{Python, `import platform, os, sys; platform.system(); system = 1; print(system); from os import path`, ""},
		{Python, `re.compile("x"); model.eval(); d = {"system": 1}; cur.execute("select 1")`, ""},
		{Python, `subprocess.run(["pip", "install", "x"])`, "sec.shell.code"},
		{Python, `os.system("pip install x")`, "sec.packages"},
		{Python, `import pip`, "sec.packages"},
		{Python, `from pip import main`, "sec.packages"},
		{Python, `print("no pip here"); install = 1; df["install"]`, ""},
		{JavaScript, `require('child_process').execSync('ls')`, "sec.shell.code"},
		{JavaScript, "import { spawn } from 'node:child_process'", "sec.shell.code"},
		{JavaScript, "await import('child_' + 'process')", "sec.shell.code"},
		{JavaScript, "new Deno.Command('ls')", "sec.shell.code"},
		{JavaScript, "fs.readFileSync('/etc/passwd')", "sec.paths.host"},
		{JavaScript, "fs.readFileSync(`/etc/${x}`)", "sec.paths.host"},
		{JavaScript, "fs.readFileSync('/warehouse')", "sec.paths.host"},
		{JavaScript, "exec('npm install x')", "sec.packages"},
		{JavaScript, "const m = /a.b/.exec(s); fs.readFileSync('/in/x'); app.get('/users'); // '/etc/x'\nlet r = a " +
			"/ b / c", ""},
		{Ruby, "`ls`", "sec.shell.code"},
		{Ruby, "system 'ls'", "sec.shell.code"},
		{Ruby, "system('ls', '-l')", "sec.shell.code"},
		{Ruby, "%x(ls)", "sec.shell.code"},
		{Ruby, "IO.popen(x)", "sec.shell.code"},
		{Ruby, "require 'open3'", "sec.shell.code"},
		{Ruby, "Kernel.send(:x, 1); Kernel.exec(x)", "sec.shell.code"},
		{Ruby, "open('| ls')", "sec.shell.code"},
		{Ruby, "File.read('/etc/passwd')", "sec.paths.host"},
		{Ruby, "File.read '/warehouse'", "sec.paths.host"},
		{Ruby, "puts File.read('/in/x').scan(/\\d+/).size / 2 # /etc/x", ""},
		{Perl, "system(\"ls\")", "sec.shell.code"},
		{Perl, "exec 'ls'", "sec.shell.code"},
		{Perl, "system $x", "sec.shell.code"},
		{Perl, "my $x = qx{ls};", "sec.shell.code"},
		{Perl, "open(F, '-|', 'ls')", "sec.shell.code"},
		{Perl, "open F, \"ls |\";", "sec.shell.code"},
		{Perl, "use IPC::Open3;", "sec.shell.code"},
		{Perl, "use CPAN;", "sec.packages"},
		{Perl, "open(F, '<', '/etc/passwd')", "sec.paths.host"},
		{Perl, "open(F, '</warehouse')", "sec.paths.host"},
		{Perl, "s{/etc}{/x}; while(<>){ print if m#/var/# || /\\|/ } $h{system} = 1; open(F, '<', '/in/x');", ""},
		{Python, "parts = ['b', 'a', '/in']\nopen(os.path.join(*reversed(parts)))", ""},
		{Python, "def run_path(graph):\n    return graph\nrisky = ['os.system(', 'subprocess.Popen(']\nprint([r " +
			"for r in risky if r in line])", ""},
		{Python, "run_path = '/out/run1'\nrisky = ['os.system(x)']\nprint(risky)", ""},
		{JavaScript, `const share = { train: 120, eval: 30, }; print(share["eval"] / 150)`, ""},
		{JavaScript, `if (metrics["eval"] > 0.5 && metrics["eval"] >= best) { best = 1 }`, ""},
		{JavaScript, "const f = globalThis['eval']\n< 0\n", ""},
		{JavaScript, `const said = ["npm install failed; try again", "no such program"];`, ""},
	}
	for _, tt := range tests {
		notes := Check(tt.lang, tt.src, Options{})
		found := tt.rule == "" && len(notes) == 0
		for _, n := range notes {
			found = found || n.Rule == tt.rule
			if n.Offset < 0 || n.Offset >= len(tt.src) || n.Message == "" || n.Hint == "" {
				t.Errorf("%q: bad note %+v", tt.src, n)
			}
		}
		if !found {
			t.Errorf("%s %q: want %q, got %+v", tt.lang, tt.src, tt.rule, notes)
		}
	}
}

func TestMontyHasNoProcesses(t *testing.T) {
	ns := Check(Python, "import subprocess", Options{Monty: true})
	if len(ns) != 1 || ns[0].Severity != "" || !strings.Contains(ns[0].Hint, "monty has no processes") {
		t.Errorf("got %+v", ns)
	}
	ns = Check(Python, "open('/etc/x')", Options{Monty: true})
	if len(ns) != 1 || ns[0].Severity != "" || ns[0].Offset != 6 {
		t.Errorf("got %+v", ns)
	}
}

func TestDecodedCode(t *testing.T) {
	for src, want := range map[string]schemas.Severity{
		`import base64; exec(base64.b64decode("aW1wb3J0IG9z"))`: schemas.SeverityBlocking,
		`exec(compile(zlib.decompress(x), "x", "exec"))`:        schemas.SeverityBlocking,
		`exec(open("/in/x.py").read())`:                         "",
	} {
		i := slices.IndexFunc(Check(Python, src, Options{}),
			func(n document.Note) bool { return n.Rule == "sec.code.dynamic" })
		if i < 0 || Check(Python, src, Options{})[i].Severity != want {
			t.Errorf("%s: %+v", src, Check(Python, src, Options{}))
		}
	}
}

func TestCheckModule(t *testing.T) {
	for _, tt := range []struct {
		lang         Language
		module, rule string
	}{{Perl, "IPC::Open3", "sec.shell.code"}, {Ruby, "open3", "sec.shell.code"},
		{JavaScript, "node:child_process", "sec.shell.code"}, {JavaScript, "node:http", RuleNetwork}, {Ruby, "csv", ""},
		{Perl, "JSON::PP", ""}, {Python, "", ""}} {
		rule := ""
		for _, n := range CheckModule(tt.lang, tt.module) {
			rule = n.Rule
		}
		if rule != tt.rule {
			t.Errorf("%s %s: %q, want %q", tt.lang, tt.module, rule, tt.rule)
		}
	}
}

// TestTable says that every line of the table is read as it is meant.
func TestTable(t *testing.T) {
	known := []role{starts, installs, networks, privileges, homes, runs, decodes, loads, files, writes, patterns, shows}
	for key, n := range table {
		if !slices.Contains(languages, key.lang) || !slices.Contains(known, key.role) ||
			len(n.exact)+len(n.below) == 0 {
			t.Errorf("%+v", key)
		}
	}
}

func TestSlowCode(t *testing.T) {
	const size = 1 << 15
	for _, lang := range languages {
		for _, unit := range []string{"'", `"`, "`", "(", "f'{", "${", "#{", "<<A\n", "q(", "'a'+", "'a' ", "/", "s/", "%w[", "'/etc/x',", "from os import a,", "import a,", "open(", "\\", "=begin\n", "$", "{", "'''", "[[", "/*", "x", "%"} {
			src := strings.Repeat(unit, size/len(unit))
			Check(lang, src, Options{})
		}
	}
}

// TestSlowStatements judges as much code as a request may hold, of one line or of many.
func TestSlowStatements(t *testing.T) {
	const size = 200 << 10
	for _, lang := range languages {
		for _, unit := range []string{"eval(x)\n", "x='child_process'\n", "$x = 'a |';", "f(system)\n", "x=[65,66,67,68];", "x=['a','b'];", "f(a,'b','c')\n", "x.y(*x)\n", "chr(x)=[65,66,67,68];", "x='a';", "fetch('http://a');", "$>=0;", "(system)", "x[0]=chr(1);", "x.push(chr(1));", "const a={b:1,c:2,};a['eval'];", "f(*reversed(x),x[::-1]);", "eval(''.join(x));"} {
			src := strings.Repeat(unit, size/len(unit))
			Check(lang, src, Options{})
		}
	}
}

func FuzzCheck(f *testing.F) {
	for i, s := range []string{`f"{x['/etc']}" + 'a'`, "`a${b}`/x/", "%w[a b] <<~E\nE", "s{a}{b}e; qw(x)"} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, n uint8, src string) {
		lang := languages[int(n)%len(languages)]
		for _, tok := range Tokens(lang, src) {
			if tok.Offset < 0 || tok.End > len(src) || tok.Offset > tok.End {
				t.Fatalf("token %+v of %d bytes", tok, len(src))
			}
		}
		for _, n := range Check(lang, src, Options{}) {
			if n.Offset < 0 || n.Offset > len(src) || n.Rule == "" {
				t.Fatalf("note %+v", n)
			}
		}
	})
}
