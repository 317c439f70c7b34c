package code

import (
	"path"
	"regexp"
	"strings"

	"github.com/threegate/tool-exec/validate/document"
)

// Shells are programs that interpret command lines, by their base name.
var Shells = words(`sh ash bash dash zsh ksh ksh93 mksh pdksh lksh oksh fish csh tcsh rc es yash hush rbash rksh rzsh rssh sash posh scsh ion nu nushell elvish xonsh osh ysh oil murex
	busybox toybox powershell pwsh cmd command.com bsh jsh lsh git-shell nologin wish expect`)

var shellVersion = regexp.MustCompile(`^([a-z]+?)-?[0-9][0-9.]*$`)

// IsShell says whether a word of a command line names a shell.
func IsShell(word string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	name = strings.TrimSuffix(name, ".exe")
	name = strings.TrimPrefix(name, "-")
	if m := shellVersion.FindStringSubmatch(name); m != nil && Shells[m[1]] {
		return true
	}
	return Shells[name]
}

// Modules whose only use is to start processes, or to call into the system's
// libraries, which start them as well.
var processModules = map[Language]map[string]bool{
	Python:     words(`subprocess pty commands popen2 pexpect plumbum sh invoke fabric cffi sarge delegator envoy ptyprocess pwn pwntools pyximport cppyy f2py script_helper gdb lldb vim neovim pynvim`),
	JavaScript: words(`child_process node:child_process execa shelljs zx cross-spawn spawn_sync process_wrap ffi ffi-napi node-ffi ref-napi koffi cluster node:cluster repl node:repl inspector node:inspector node-pty node-cmd sudo-prompt child-process-promise tinyexec nano-spawn dugite foreground-child @npmcli/promise-spawn simple-git`),
	Ruby:       words(`open3 pty shell fiddle fiddle/import ffi childprocess posix-spawn posix/spawn tty-command mixlib/shellout systemu open4 popen4 terrapin cocaine inline`),
	Awk:        words(`fork`),
	Perl:       words(`IPC::Open2 IPC::Open3 IPC::Run IPC::Cmd IPC::System::Simple Shell FFI::Platypus DynaLoader XSLoader Inline Inline::C Inline::CPP IPC::Run3 IPC::Session Proc::Background Proc::Simple Proc::Spawn Expect System::Command Win32::Process IO::Pipe`),
	Lua:        words(`ffi cffi posix posix.unistd subprocess resty.shell luci.sys`),
	R:          words(`subprocess pty pexpect`), // of Python, by reticulate
}

// StartsProcesses says whether loading the module gives code the means to
// start processes.
func StartsProcesses(lang Language, module string) bool { return processModules[lang][module] }

// Functions that start processes, called by their bare name.
var processCalls = map[Language]map[string]bool{
	Python:     words(`load_inline`),
	JavaScript: words(`execSync execFileSync spawnSync execFile runCommand`),
	Ruby:       words(`system exec spawn fork ccall sh`),
	Perl:       words(`system exec fork readpipe`),
	PHP:        words(`system exec shell_exec passthru popen proc_open pcntl_exec expect_popen ssh2_exec dl create_function`),
	R:          words(`system system2 shell shell.exec pipe sourceCpp cppFunction evalCpp cfunction cxxfunction Rcmd browseURL terminalExecute exec_wait exec_background exec_internal`),
	Awk:        words(`system`),
}

// Methods that start processes, by receiver: "*" is any.
var processMethods = map[Language]map[string]map[string]bool{
	Python: {
		"system": words(`* !platform`), "popen": words(`*`), "popen2": words(`*`), "popen3": words(`*`), "execl": words(`*`), "execle": words(`*`), "execlp": words(`*`), "execlpe": words(`*`), "execv": words(`*`), "execve": words(`*`),
		"execvp": words(`*`), "execvpe": words(`*`), "spawnl": words(`*`), "spawnle": words(`*`), "spawnlp": words(`*`), "spawnv": words(`*`), "spawnve": words(`*`), "spawnvp": words(`*`), "posix_spawn": words(`*`), "posix_spawnp": words(`*`),
		"startfile": words(`os`), "fork": words(`os`), "forkpty": words(`os`), "spawn": words(`pty`), "Popen": words(`*`), "check_output": words(`*`), "check_call": words(`*`), "getoutput": words(`*`), "getstatusoutput": words(`*`),
		"CFUNCTYPE": words(`ctypes`), "PYFUNCTYPE": words(`ctypes`), "WINFUNCTYPE": words(`ctypes`), "create_subprocess_exec": words(`*`), "create_subprocess_shell": words(`*`), "subprocess_shell": words(`*`), "subprocess_exec": words(`*`),
		"WinExec": words(`*`), "ShellExecute": words(`*`), "ShellExecuteW": words(`*`), "ShellExecuteA": words(`*`), "ShellExecuteEx": words(`*`), "load_extension": words(`*`), "get": words(`webbrowser`), "GenericBrowser": words(`webbrowser`), "BackgroundBrowser": words(`webbrowser`), "IMAP4_stream": words(`*`),
		"pipepager": words(`*`), "tempfilepager": words(`*`), "run_process": words(`trio anyio`), "open_process": words(`trio anyio`), "spawn_command_line_async": words(`*`), "spawn_command_line_sync": words(`*`), "spawn_async": words(`*`), "spawn_sync": words(`*`), "spawn_async_with_pipes": words(`*`), "load_inline": words(`*`), "FunctionType": words(`types`), "CodeType": words(`types`),
	},
	JavaScript: {"execSync": words(`*`), "spawnSync": words(`*`), "execFileSync": words(`*`), "dlopen": words(`process Deno`), "binding": words(`process`), "Command": words(`Deno`), "run": words(`Deno`), "popen": words(`std`), "system": words(`os`), "spawn_command_line_sync": words(`*`), "spawn_command_line_async": words(`*`), "spawn": words(`Bun child_process cp`), "exec": words(`child_process cp os`), "fork": words(`child_process cp`)},
	Ruby:       {"system": words(`Kernel Process Object self IO main`), "spawn": words(`Kernel Process Object self PTY IO`), "exec": words(`Kernel Process`), "fork": words(`Kernel Process`), "popen": words(`*`), "capture2": words(`*`), "capture3": words(`*`), "capture2e": words(`*`), "popen3": words(`*`), "popen2": words(`*`), "pipeline": words(`Open3`)},
	Lua:        {"execute": words(`os hs utils`), "popen": words(`io`), "loadlib": words(`package`), "executeex": words(`*`), "system": words(`fn vim`), "jobstart": words(`fn`), "termopen": words(`fn`), "execp": words(`*`), "execx": words(`*`), "spawn": words(`posix uv luv process`), "fork": words(`posix unistd`)},
}

const processHint = "do the work in the program itself: a request runs one program and no shell"

// process adds a finding about a process that is started.
func (c *checker) process(offset int, what string) {
	hint := processHint
	if c.opt.Monty {
		hint = "remove it: monty has no processes, it would fail at run time"
	}
	c.add("sec.shell.code", "", offset, "the code starts another program: "+document.Quote(what), hint)
}

// processes looks for code that starts shells or other programs.
func (c *checker) processes(ts []Token, base int) {
	c.methods, c.calls = processMethods[c.lang], processCalls[c.lang]
	if c.lang == Lua {
		c.aliases = aliasesOf(ts, "os")
	}
	for i, t := range ts {
		at := base + t.Offset
		prev, prev2, next := around(ts, i)
		switch t.Kind {
		case Shell:
			c.process(at, "`"+t.Text+"`")
		case String:
			if starters[t.Text] && (prev == "(" || prev == ",") {
				c.process(at, t.Text)
			}
			c.carried(ts, i, at)
			if c.moduleLoaded(ts, i) {
				if isInstaller(c.lang, t.Text) {
					c.install(at, t.Text)
				}
				if processModules[c.lang][t.Text] {
					c.process(at, t.Text)
				}
			}
			if c.lang == Python && (t.Text == "os." && prev == "(" && (prev2 == "eval" || prev2 == "exec") || startsByName[t.Text] && prev == "[" && tokenText(ts, i-3) == "getattr") {
				c.process(at, t.Text)
			}
			if (prev == "(" || prev == ",") && (reflects[prev2Name(ts, i)] || c.lang == R && reflectsR[prev2Name(ts, i)] || c.lang == PHP && callbacks[enclosing(ts, i)]) {
				switch {
				case c.lang == PHP && prev == "," && strings.HasPrefix(enclosing(ts, i), "call_user_func"): // an argument
				case processName(c.lang, t.Text), t.Text == "`", c.lang == R && t.Text == "dyn.load":
					c.process(at, t.Text)
				case c.lang == R && t.Text == "install.packages":
					c.install(at, t.Text)
				}
			}
			if c.lang == Ruby && prev == "(" && (prev2 == "open" || prev2 == "read" || prev2 == "readlines" || prev2 == "foreach" || prev2 == "binread") && strings.HasPrefix(t.Text, "|") {
				c.process(at, t.Text)
			}
			if c.lang == Perl && i > 0 && c.opens(ts, i) && (t.Text == "-|" || t.Text == "|-" || strings.HasPrefix(t.Text, "|") || strings.HasSuffix(strings.TrimSpace(t.Text), "|")) {
				c.process(at, t.Text)
			}
			if c.lang == Awk && (prev == "|" || prev == "&" && prev2 == "|" || next == "|" && (tokenText(ts, i+2) == "getline" || tokenText(ts, i+2) == "&" && tokenText(ts, i+3) == "getline")) {
				c.process(at, t.Text)
			}
			if c.lang == Awk && strings.HasPrefix(t.Text, "/inet") {
				c.add("sec.devices", "", at, document.Quote(t.Text)+" is a connection to the network", "a request reaches the network through the node's proxy only")
			}
			if c.reached(ts, i) {
				c.process(at, t.Text)
			}
			if c.lang == Python && prev == "(" && prev2 == "__import__" && (t.Text == "os" || t.Text == "posix") {
				c.dynamic(at, "__import__("+t.Text+")")
			}
		case Punct:
			if c.lang == Awk && t.Text == "|" && (next == "getline" || prints(ts, i)) {
				c.process(at, "| "+next)
			}
			if c.lang == Python && t.Text == "*" && prev == "import" && (prev2 == "os" || processModules[Python][prev2]) {
				c.process(at, "from "+prev2+" import *")
			}
		case Name:
			if !c.nameInstalls(ts, i, at, prev, prev2, next) {
				c.name(ts, i, at, prev, prev2, next)
			}
		}
	}
}

// prints says whether the statement of Awk before the token at i prints.
func prints(ts []Token, i int) bool {
	for j := i - 1; j >= 0 && j > i-64; j-- {
		switch t := ts[j]; {
		case t.Kind == Name && (t.Text == "print" || t.Text == "printf"):
			return true
		case t.Kind == Punct && (t.Text == ";" || t.Text == "{" || t.Text == "}"):
			return false
		}
	}
	return false
}

// aliasesOf lists the variables that hold a module: local x = os.
func aliasesOf(ts []Token, module string) map[string]bool {
	out := map[string]bool{}
	for i := 1; i+1 < len(ts); i++ {
		if ts[i].Text == "=" && ts[i-1].Kind == Name && ts[i+1].Text == module && tokenText(ts, i+2) != "." {
			out[ts[i-1].Text] = true
		}
	}
	return out
}

func tokenText(ts []Token, i int) string {
	if i < 0 || i >= len(ts) {
		return ""
	}
	return ts[i].Text
}

// reached says whether the literal at i names a function that starts processes
// in a place where it is looked up: os["execute"], $f = "system".
func (c *checker) reached(ts []Token, i int) bool {
	name, prev, prev2 := ts[i].Text, tokenText(ts, i-1), tokenText(ts, i-2)
	index := prev == "[" && tokenText(ts, i+1) == "]"
	switch c.lang {
	case Python:
		return index && processName(Python, name) && (prev2 == "__dict__" || prev2 == "__globals__" || prev2 == ")")
	case Lua:
		return index && processMethods[Lua][name] != nil && (prev2 == "os" || prev2 == "io" || prev2 == "]") || index && name == "os" && (prev2 == "_G" || prev2 == "_ENV")
	case Awk:
		return processCalls[Awk][name] && prev == "="
	case PHP:
		if prev == "=>" && processCalls[PHP][name] {
			return callsElement(ts)
		}
		return processCalls[PHP][name] && (prev == "=" || prev == "(" && (prev2 == "call_user_func" || prev2 == "call_user_func_array" || prev2 == "array_map"))
	case JavaScript:
		return processModules[JavaScript][name] && prev == "(" && (prev2 == ")" || prev2 == "_load" || prev2 == "")
	}
	return false
}

func (c *checker) name(ts []Token, i, at int, prev, prev2, next string) {
	name := ts[i].Text
	switch {
	case c.importsModule(ts, i) && (processModules[c.lang][name] || c.lang == Perl && processModules[c.lang][qualified(ts, i)]):
		c.process(at, name)
	case c.lang == Python && importedFrom(ts, i, "os") && processName(Python, name) && name != "platform":
		c.process(at, "os."+name)
	case c.lang == R && (name == "system" || name == "popen") && prev == "$", c.lang == R && name == "exec" && prev == "." && prev2 == "shell", c.lang == R && prev == ":" && prev2 == "::" && processCalls[R][name], c.lang == R && name == "callr" && next == "::",
		c.lang == R && (name == "system" || name == "system2") && (prev == "," || prev == "(") && next == ")" && prev2 != "function", c.lang == R && name == "cmd" && next == "=" && enclosing(ts, i) == "fread":
		c.process(at, name)
	case c.lang == Lua && (name == "cpath" && prev == "." && prev2 == "package" && next == "=" || (name == "os" || name == "io") && prev == "(" && prev2 == "pairs"):
		c.process(at, prev2+prev+name)
	case c.lang == JavaScript && name == "require" && prev == "=" && next != "(" && next != ".":
		c.process(at, "= require")
	case c.lang == JavaScript && (name == "$" || name == "spawn" || name == "spawnSync") && (prev == "{" || prev == ",") && fromBun(ts, i):
		c.process(at, name)
	case c.lang == Python && (name == "__dict__" && prev == "." && prev2 == "os" || name == "Template" && prev2 == "pipes"):
		c.process(at, prev2+prev+name)
	case c.lang == JavaScript && name == "require" && next == "(" && tokenText(ts, i+2) == "[" && i+3 < len(ts) && ts[i+3].Kind != String:
		c.process(at, "require([...])")
	case c.lang == Perl && name == "system" && next == "{" && prev != "sub":
		c.process(at, name)
	case c.lang == Python && name == "__import__" && next == "(" && prev == "(" && prev2 == "getattr" && i+2 < len(ts) && ts[i+2].Kind != String:
		c.process(at, "getattr(__import__(...))")
	case c.lang == Python && name == "os" && prev == "(" && prev2 == "vars", c.lang == Python && name == "os" && prev == "(" && prev2 == "getattr" && next == "," && i+2 < len(ts) && ts[i+2].Kind != String:
		c.process(at, prev2+"(os)")
	case c.lang == Python && prev == "import" && prev2 != "platform" && c.fromStatement(ts, i-1) && (startsByName[name] || buildsPrograms[prev2] && (name == "spawn" || name == "new_compiler") || name == "spawn" && (prev2 == "pexpect" || prev2 == "pty" || prev2 == "_distutils")):
		c.process(at, name)
	case c.lang == R && name == "load" && prev == "." && prev2 == "dyn":
		c.process(at, "dyn.load")
	case c.lang == Python && name == "loads" && prev == "." && prev2 == "marshal" && tokenText(ts, i+2) != "marshal":
		c.dynamic(at, "marshal.loads")
		c.obfuscated(at, "marshal.loads")
	case c.lang == JavaScript && runsIn[name] && next == "(" && i+2 < len(ts) && ts[i+2].Kind != String:
		c.dynamic(at, name)
		if decodesNear(ts, i+2) {
			c.obfuscated(at, name)
		}
	case c.lang == Ruby && (name == "send" || name == "public_send" || name == "__send__") && prev == "." && (prev2 == "Kernel" || prev2 == "Process"):
		c.process(at, prev2+"."+name)
	case c.lang == Ruby && (name == "load" && prev == "." && prev2 == "Marshal" && decodesNear(ts, i+1) || name == "load_from_binary"):
		c.dynamic(at, prev2+"."+name)
		c.obfuscated(at, prev2+"."+name)
	case c.lang == PHP && name == "FFI" && next == "::":
		c.process(at, name)
	case c.lang == PHP && name == "Process" && prev == `\` && prev2 == "Component":
		c.process(at, `Symfony\Component\Process`)
	case c.lang == R && prev == "::" && (processCalls[R][name] || prev2 == "processx" || prev2 == "callr" && name == "rcmd" || prev2 == "sys" && strings.HasPrefix(name, "exec")):
		c.process(at, prev2+"::"+name)
	case c.lang == Ruby && prev == ":" && (processCalls[Ruby][name] || name == "popen" || evaluates[name]) && reflects[tokenText(ts, i-3)]:
		c.process(at, ":"+name)
	case c.lang == Python && prev == "." && (prev2 == "os" || prev2 == "posix" || prev2 == "nt" || prev2 == ")" && tokenText(ts, i-5) == "__import__") && osStarts(name):
		c.process(at, prev2+prev+name)
	case c.lang == Python && name == "__subclasses__" && (prev2 == "__base__" || prev2 == "]" || prev2 == "__bases__" || prev2 == "object"):
		c.process(at, prev2+"."+name)
	case (name == "home" && (prev2 == "Path" || prev2 == "Dir") || name == "homedir" && (prev2 == "os" || prev2 == ")" && strings.TrimPrefix(tokenText(ts, i-3), "node:") == "os")) && prev == ".":
		c.add("sec.paths.host", "", at, document.Quote(prev2+"."+name)+" names a home folder of the host", "only /in, /out and /tmp exist in a sandbox: pass the file as an input below /in")
	case c.lang == Perl && name == "exec" && next == "{" && prev != "sub":
		c.process(at, name)
	case c.lang == JavaScript && name == "$" && prev2 == "Bun":
		c.process(at, "Bun.$")
	case c.lang == Python && (name == "loads" || name == "load") && prev == "." && picklers[prev2] && next == "(" && tokenText(ts, i+2) != prev2 && (decodesNear(ts, i+2) || i+2 < len(ts) && ts[i+2].Kind == String):
		c.dynamic(at, prev2+"."+name)
		c.obfuscated(at, prev2+"."+name)
	case c.lang == JavaScript && name == "constructor" && prev == "." && prev2 == "constructor" && next == "(":
		c.dynamic(at, "constructor.constructor")
		c.obfuscated(at, "constructor.constructor")
	case prev == "." || prev == "::" || prev == "->":
		if rs, ok := c.methods[name]; ok && (next == "(" || c.lang == Ruby || c.lang == Lua) {
			if (rs["*"] || rs[prev2] || c.aliases[prev2]) && !rs["!"+prev2] && !(c.lang == Lua && next == ")" && (tokenText(ts, i-4) == "type" || tokenText(ts, i-4) == "tostring")) && !(c.lang == Python && prev2 == ")" && (name == "system" || name == "popen") && !reflected(ts, i-2)) {
				c.process(at, prev2+prev+name)
			}
		}
	case (c.lang == R || c.lang == Ruby) && c.own[name]: // defined here
	case c.calls[name] && prev != "def" && prev != "function" && prev != "sub" && prev != "." && prev != "->" && next != "=" && next != "=>" && next != ":" && prev != ":" && prev != "$":
		if next == "(" || c.lang == Ruby && (startsArgument(ts, i) || next == "$" || i+1 < len(ts) && ts[i+1].Kind == Name && ts[i+1].Offset-ts[i].End <= 1 && !rubyWords[next]) || c.lang == Perl && (startsArgument(ts, i) || strings.HasPrefix(next, "$") || strings.HasPrefix(next, "@") || next == ";" && name == "fork") {
			c.process(at, name)
		}
	case c.lang == Awk && name == "getline" && prev == "|":
		c.process(at, "| getline")
	case (name == "eval" || c.lang == Ruby && strings.HasSuffix(name, "_eval") || c.lang == Lua && (name == "load" || name == "loadstring")) && prev != "." && prev != "def" && (c.lang == Ruby || c.lang == Perl || c.lang == PHP || c.lang == R || c.lang == Lua):
		if decodesNear(ts, i+1) || c.lang == Lua && next == "(" && decodesByHand(ts, i+2) {
			c.dynamic(at, name)
			c.obfuscated(at, name)
		}
	case (name == "exec" || name == "eval") && next == "(" && prev != "." && prev != "def" && (c.lang == Python || c.lang == JavaScript && name == "eval") && i+2 < len(ts) && (ts[i+2].Kind != String || worksOn(ts, i+2)):
		c.dynamic(at, name)
		if decodesNear(ts, i+2) || madeOf(ts, i+2) || fetchesNear(ts, i+2) || tokenText(ts, i+3) == "[" && ts[i+2].Kind == String {
			c.obfuscated(at, name)
		}
	}
}

// rubyWords may stand behind a variable that is named like a function.
var rubyWords = words(`if unless and or end do then while until rescue in`)

// osStarts says whether os.NAME starts processes, called or handed on.
func osStarts(name string) bool {
	rs, ok := processMethods[Python][name]
	return ok && (rs["*"] || rs["os"])
}

// reflects are functions that reach another function by its name.
var reflects = words(`getattr __getattribute__ __getattr__ __import__ import_module send public_send __send__ method const_get instance_method attrgetter methodcaller call_user_func`)

// startsByName are names by which any module of Python may offer what starts programs.
var startsByName = words(`system popen run_process open_process Popen getoutput getstatusoutput check_output check_call exec_command create_subprocess_shell create_subprocess_exec assert_python_ok`)

// buildsPrograms are modules that start compilers, by the end of their names.
var buildsPrograms = words(`ccompiler distutils _distutils spawn`)

// callsElement says whether PHP calls what a list holds: $f['x']().
func callsElement(ts []Token) bool {
	for i := 1; i < len(ts); i++ {
		if ts[i].Text == "(" && ts[i-1].Text == "]" {
			return true
		}
	}
	return false
}

// loadsLibrary are functions that return a library of the system.
var loadsLibrary = words(`CDLL WinDLL OleDLL PyDLL LoadLibrary dlopen find_library`)

// reflected says whether the bracket that closes at i belongs to a call that
// reaches something by its name.
func reflected(ts []Token, i int) bool {
	depth := 0
	for j := i; j > 0 && j > i-64; j-- {
		switch {
		case ts[j].Kind != Punct:
		case ts[j].Text == ")":
			depth++
		case ts[j].Text == "(":
			if depth--; depth == 0 {
				return reflects[ts[j-1].Text] || loadsLibrary[ts[j-1].Text] || ts[j-1].Text == ")" || ts[j-1].Text == "get_ipython"
			}
		}
	}
	return true
}

// reflectsR are R's: get("system"), match.fun("system"), do.call("system", ...).
var reflectsR = words(`get get0 mget fun call getFunction getExportedValue getFromNamespace`)

// callbacks are functions of PHP that call one of their arguments.
var callbacks = words(`call_user_func call_user_func_array forward_static_call forward_static_call_array array_map array_walk array_filter array_reduce usort uasort uksort iterator_apply register_shutdown_function register_tick_function ob_start set_error_handler set_exception_handler preg_replace_callback ReflectionFunction fromCallable`)

// starters are the names of objects of other systems that start programs.
var starters = words(`WScript.Shell Shell.Application java/lang/Runtime java.lang.Runtime java/lang/ProcessBuilder java.lang.ProcessBuilder`)

func processName(lang Language, name string) bool {
	if processCalls[lang][name] || processModules[lang][name] {
		return true
	}
	_, ok := processMethods[lang][name]
	return ok
}

func around(ts []Token, i int) (prev, prev2, next string) {
	if i > 0 {
		prev = ts[i-1].Text
	}
	if i > 1 {
		prev2 = ts[i-2].Text
	}
	if i+1 < len(ts) {
		next = ts[i+1].Text
	}
	return prev, prev2, next
}

// prev2Name is the function that the argument list around token i belongs to,
// if the literal is its first or second argument.
func prev2Name(ts []Token, i int) string {
	for j := i - 1; j > 0 && j > i-6; j-- {
		if ts[j].Kind == Punct && ts[j].Text == "(" {
			return ts[j-1].Text
		}
	}
	return ""
}

func startsArgument(ts []Token, i int) bool {
	return i+1 < len(ts) && (ts[i+1].Kind == String || ts[i+1].Kind == Shell)
}

// opens says whether the literal at i is an argument of Perl's open.
func (c *checker) opens(ts []Token, i int) bool {
	for j := i - 1; j >= 0 && j > i-8; j-- {
		if ts[j].Kind == Name && ts[j].Text == "open" {
			return true
		}
		if ts[j].Kind == Punct && ts[j].Text == ";" {
			return false
		}
	}
	return false
}
