//go:build real

package accuracy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// The times that programs get.
const (
	shortTime = 5 * time.Second
	longTime  = 4 * time.Minute
)

// nobody is who programs of the machine run as, where that can be chosen.
const nobody = 65534

// run runs cmd, with all that it starts, for a time at most, and returns what it prints on
// both streams.
func run(ctx context.Context, most time.Duration, cmd func(context.Context) *exec.Cmd) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	c := cmd(ctx)
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Setpgid = true
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	return c.CombinedOutput()
}

// printed is what a command prints in the repository, whatever comes of it: what a failing
// one prints is a log, too.
func (f *finder) printed(argv ...string) []byte {
	b, _ := run(f.ctx, longTime, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = f.root, append(os.Environ(), "LC_ALL=C.UTF-8", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
		return cmd
	})
	return b
}

// confined is what a program of the machine prints in an empty folder, with no input but
// stdin and for a short time; asNobody, if it may.
func (f *finder) confined(asNobody bool, stdin []byte, argv ...string) []byte {
	b, _ := run(f.ctx, shortTime, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Stdin = f.tmp, bytes.NewReader(stdin)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + f.tmp, "LC_ALL=C.UTF-8", "TERM=dumb", "PAGER=cat",
			"COLUMNS=80"}
		if asNobody && os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		return cmd
	})
	return b
}

// unsafe are programs whose help is not worth the risk that they do not know --help.
var unsafe = regexp.MustCompile(`/[^/]*(?:kill|halt|reboot|shutdown|poweroff|init|daemon|server|reset|agent)[^/]*$|/(?:wall|pg_[^/]*|sudo|su|x-[^/]*|startx)$`)

// helps are what programs that know --help print of it.
func helps(f *finder) (out []candidate) {
	for _, p := range files(`^/usr/bin/[^/]*$`, unsafe.String(), "/usr/bin") {
		out = append(out, candidate{p + " --help", func() []byte {
			if !bytes.Contains(readWhole(p), []byte("--help")) {
				return nil
			}
			return f.confined(true, nil, p, "--help")
		}})
	}
	for line := range strings.Lines(string(f.printed("go", "help"))) {
		if word := strings.Fields(line); strings.HasPrefix(line, "\t") && len(word) > 1 && word[0] != "go" {
			out = append(out, f.command("go", "help", word[0]))
		}
	}
	return out
}

// command is what a command prints in the repository.
func (f *finder) command(argv ...string) candidate {
	return candidate{strings.Join(argv, " "), func() []byte { return f.printed(argv...) }}
}

// pages are manual pages as man shows them.
func pages(want, but string, dirs ...string) func(*finder) []candidate {
	return func(f *finder) []candidate {
		return throughNamed(files(want, but, dirs...), func(_ string, b []byte) []byte {
			if len(b) > maxText*3 || bytes.HasPrefix(b, []byte(".so ")) {
				return nil
			}
			return f.confined(true, b, "groff", "-Kutf8", "-t", "-mandoc", "-Tutf8", "-rLL=80n", "-P-cbou")
		})
	}
}

func throughNamed(paths []string, change func(string, []byte) []byte) (out []candidate) {
	for _, p := range paths {
		out = append(out, candidate{p, func() []byte { return change(p, readAny(p)) }})
	}
	return out
}

// packages are those of the standard library that people use, and those that this
// repository is built from.
func (f *finder) packages() (out []string) {
	list := append(f.printed("go", "list", "std"), f.printed("go", "list", "-deps", "./...")...)
	seen := map[string]bool{}
	for p := range strings.FieldsSeq(string(list)) {
		if !seen[p] && !strings.Contains(p, "internal") && !strings.Contains(p, "vendor/") &&
			!strings.HasPrefix(p, own) {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

const own = "github.com/threegate/tool-exec"

func goDocs(f *finder) (out []candidate) {
	for _, p := range f.packages() {
		out = append(out, f.command("go", "doc", "-all", p))
	}
	return out
}

// quick are packages of the standard library whose tests take little time.
var quick = regexp.MustCompile(`^(?:bufio|bytes|cmp|container/.*|context|embed|encoding/.*|errors|expvar|flag|fmt|go/(?:ast|constant|doc|format|parser|printer|scanner|token|version)|hash/.*|html.*|image.*|index/.*|io.*|log|maps|math|math/(?:bits|cmplx)|mime.*|path.*|slices|strconv|strings|text/.*|unicode.*|unique)$`)

// Of modules only every so many-th package is tested.
const manyPackages = 20

// goTests are what tests of the standard library and of modules print, by package.
func goTests(f *finder) (out []candidate) {
	args := []string{"go", "test", "-json", "-short"}
	modules := 0
	for _, p := range f.packages() {
		if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
			if quick.MatchString(p) {
				args = append(args, p)
			}
		} else if modules++; modules%manyPackages == 0 {
			args = append(args, p)
		}
	}
	byPackage := map[string]*bytes.Buffer{}
	raw := f.printed(args...)
	for line := range bytes.Lines(raw) {
		var e struct{ Package, ImportPath, Output string }
		if json.Unmarshal(line, &e) != nil || e.Output == "" {
			continue
		}
		name := e.Package + e.ImportPath
		if byPackage[name] == nil {
			byPackage[name] = &bytes.Buffer{}
		}
		byPackage[name].WriteString(e.Output)
	}
	for name, b := range byPackage {
		out = append(out, chunks("go test -v "+name, b.Bytes(), 150)...)
	}
	return append(out, chunks("go test -json", raw[:min(len(raw), 400<<10)], 60)...)
}

// pure are tests of Python's library that touch nothing but memory.
var pure = regexp.MustCompile(`/test_(?:abc|argparse|array|ast|base64|binascii|bisect|bool|bytes|calendar|cmath|` +
	`collections|colorsys|compare|complex|configparser|contextlib|copy|copyreg|csv|dataclasses|datetime|decimal|` +
	`defaultdict|deque|descr|dict|difflib|dis|enum|enumerate|exceptions|float|fnmatch|format|fractions|fstring|` +
	`functools|generators|genexps|getopt|graphlib|hash|heapq|html|htmlparser|int|isinstance|iter|itertools|keyword|` +
	`list|long|math|operator|optparse|ordered_dict|pprint|property|random|range|re|richcmp|set|shlex|slice|sort|` +
	`statistics|str|string|struct|super|textwrap|tuple|types|typing|unpack|urlparse|userdict|userlist|zip)\.py$`)

// pyTests are what such tests print, where Python has them.
func pyTests(f *finder) (out []candidate) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	dir := strings.TrimSpace(string(f.printed(python, "-c", "import test, os; print(os.path.dirname(test.__file__))")))
	for _, p := range files(pure.String(), "", dir) {
		if filepath.Dir(p) == dir {
			name := "test." + strings.TrimSuffix(filepath.Base(p), ".py")
			out = append(out, candidate{"python3 -m unittest -v " + name, func() []byte {
				return f.confined(false, nil, python, "-m", "unittest", "-v", name)
			}})
		}
	}
	return out
}

// builds are what compilers and build tools print.
func builds(f *finder) []candidate {
	out := chunks("go build -n -a", f.printed("go", "build", "-n", "-a", "-o", filepath.Join(f.tmp, "threegate"), "./cmd/threegate"), 120)
	goroot := strings.TrimSpace(string(f.printed("go", "env", "GOROOT")))
	for _, p := range files(`\.go$`, "", filepath.Join(goroot, "test/fixedbugs"), filepath.Join(goroot, "test/typeparam")) {
		if bytes.HasPrefix(readAny(p), []byte("// errorcheck")) {
			out = append(out, candidate{"go tool compile " + p, func() []byte {
				// The compiler removes its output where it fails: that is a file of its own.
				return f.printed("go", "tool", "compile", "-e", "-o", filepath.Join(f.tmp, filepath.Base(p)+".o"), p)
			}})
		}
	}
	for i, p := range files(`\.h$`, "", "/usr/include") {
		if i%6 > 0 { // most print nothing
			continue
		}
		out = append(out, candidate{"gcc -Wall " + p, func() []byte {
			return f.confined(true, nil, "gcc", "-Wall", "-Wextra", "-pedantic", "-fsyntax-only", p)
		}})
	}
	out = append(out, chunks("make -n", f.printed("make", "-n", "build", "demo", "check", "images"), 60)...)
	return append(out, chunks("make -p", f.printed("make", "-p", "-n", "help"), 200)...)
}

// logs are those that Debian's tools leave.
func logs(*finder) (out []candidate) {
	for _, p := range files(`\.log(?:\.\d+)?(?:\.gz)?$`, "", "/var/log") {
		out = append(out, chunks(p, readAny(p), 150)...)
	}
	return out
}

// listings are tables of what lies on the machine.
func listings(f *finder) (out []candidate) {
	for _, argv := range [][]string{{"ls", "-lR", "/usr/share/doc"}, {"ls", "-laR", "/etc"},
		{"find", "/usr/lib", "-newer", "/etc/hostname", "-ls"}, {"go", "list", "-deps", "-json", "./cmd/threegate"},
		{"go", "mod", "graph"}, {"go", "env"}, {"mount"}, {"grep", "-rnI", "return", "/usr/include/linux"},
		{"apt-cache", "policy"}} {
		out = append(out, chunks(strings.Join(argv, " "), f.printed(argv...), 100)...)
	}
	for _, p := range files(`^/usr/bin/[^/]*$`, "", "/usr/bin") {
		if bytes.HasPrefix(readAny(p), []byte("#!")) { // its strings would be a script: not harmless
			continue
		}
		for _, argv := range [][]string{{"readelf", "-lSd", p}, {"strings", "-n", "8", p}, {"nm", "-D", p},
			{"file", p}, {"stat", p}, {"objdump", "-d", "--stop-address=0x3000", p}} {
			out = append(out, candidate{strings.Join(argv, " "), func() []byte {
				return f.confined(true, nil, argv...)
			}})
		}
	}
	return out
}

// tables are lists of what is installed, in the forms that programs write.
func tables(f *finder) []candidate {
	out := chunks("du /usr/share/doc", f.printed("du", "-h", "/usr/share/doc"), 60)
	for name, form := range map[string]string{
		"columns":  `${binary:Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n`,
		"CSV":      `"${Package}",${Version},${Installed-Size},"${Maintainer}","${binary:Summary}"\n`,
		"Markdown": `| ${Section} | ${Package} | ${Priority} | ${Homepage} | ${binary:Summary} |\n`,
		"JSON":     `{"name": "${Package}", "depends": "${Depends}", "size": ${Installed-Size}}\n`,
	} {
		out = append(out, chunks("dpkg-query, "+name, f.printed("dpkg-query", "-W", "-f", form), 25)...)
	}
	return append(out, chunks("dpkg -l", f.printed("dpkg", "-l"), 40)...)
}
