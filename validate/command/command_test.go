package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/validate/code"
	"github.com/threegate/tool-exec/validate/document"
)

func TestHarmless(t *testing.T) {
	tests := []struct {
		line string
		argv []string
	}{
		{`python -u script.py --in /in/input.csv --out /out/output.json`, []string{"python", "-u", "script.py", "--in", "/in/input.csv", "--out", "/out/output.json"}},
		{`git log -u --grep clone`, []string{"git", "log", "-u", "--grep", "clone"}},
		{`perl -pe 's{/}{::}g; s|\.pm$||' /in/x`, []string{"perl", "-pe", `s{/}{::}g; s|\.pm$||`, "/in/x"}},
		{`perl /in/s.pl 'a |'`, []string{"perl", "/in/s.pl", "a |"}},
		{`echo 'a;b' "c|d" e\;f "it's" ''`, []string{"echo", "a;b", "c|d", "e;f", "it's", ""}},
		{`grep -c "a\"b\\c\d" /in/x`, []string{"grep", "-c", `a"b\c\d`, "/in/x"}},
		{`awk '/foo/ {print $1 "/" $2}' /in/x`, []string{"awk", `/foo/ {print $1 "/" $2}`, "/in/x"}},
	}
	for _, tt := range tests {
		argv, ns := Check(tt.line)
		if len(ns) > 0 || !slices.Equal(argv, tt.argv) {
			t.Errorf("%s: %q, %+v", tt.line, argv, ns)
		}
	}
	lines := `python3 /in/stats.py /in/data.csv /out/stats.json
python -m json.tool /in/a.json /out/b.json
python -c 'import json; d=json.load(open("/in/a.json")); json.dump(d, open("/out/b.json","w"), indent=2)'
python3 -c "import csv,sys; r=list(csv.reader(open('/in/x.csv'))); print(len(r)/2)"
jq '.users | map(.name)' /in/users.json
jq -r '.a / .b' /in/x.json
jq --arg d 2026/02/09 '.[] | select(.date == $d)' /in/x.json
sed 's/a/b/g' /in/x
sed -n '/start/,/end/p' /in/log.txt
sed -e 's|/usr|/opt|' -e '1,5d' /in/x
sed -E 's#(a|b)+#\1#g;s/x/y/;/^$/d' /in/x
awk -F/ '{print $2}' /in/x
awk -F, 'NR>1 {s+=$3} END {print s/NR}' /in/data.csv
awk -v n=5 '$1 > n' /in/x
grep -E '^/api/v[0-9]+' /in/access.log
grep -A 3 '/api' /in/access.log
grep -rn -e '/etc/passwd' /in/audit
grep --regexp='/x' /in/a
cut -d/ -f2 /in/x
cut -d / -f 2 /in/x
tr / _
sort -t, -k2,2n -o /out/s.csv /in/x.csv
sort -T /tmp /in/x
uniq -c /in/x
date +%Y/%m/%d
date -d 2026/02/09
ruby -e 'puts File.read("/in/x").lines.size'
ruby -rjson -e 'puts JSON.parse(File.read("/in/x"))["a"]'
perl -ne 'print if m{/api/}' /in/x
perl -lane 'print $F[1]; END { print $. }' /in/x
perl -MList::Util=sum -e 'print sum(1..10)/2'
node -e 'console.log(require("fs").readFileSync("/in/x","utf8").split("/").length)'
node /in/app.js --content-type application/json
node --max-old-space-size=256 /in/x.js
perl /in/report.pl --date 2026-02-09
timeout 10 python /in/x.py
env LANG=C sort /in/x
env -u HOME python /in/x.py
nice -n 10 python /in/x.py
find /in -name '*.csv' -type f
find /in -type f -path '/in/logs/*' -size +1M
find /in -name '*.log' -exec wc -l {} +
xargs -a /in/list -n 1 md5sum
tar -czf /out/a.tar.gz -C /in .
tar xf /in/a.tar.xz -C /out
sqlite3 /in/x.db "select a/b, '/x' from t where d like '2026/%'"
curl -sS https://example.org/a/b?c=d
curl -H 'Accept: */*' -o /out/x https://example.org/
wc -l /in/x
sha256sum /in/a /in/b
python script.py --ratio 1/2 --type text/csv --expr 'a/b' --title "Errors / day" --range 1..5
python script.py --prefix=/api --pattern=/foo/ --url https://h/p
python script.py --shell-words bash --name sh
grep bash /in/log
gawk 'BEGIN { FS="/" } { n[$2]++ } END { for (k in n) print k, n[k] }' /in/x
xmllint --xpath '/a/b/c' /in/x.xml
printf '%s/%s\n' a b
python -c 'print("~5", "a~b", 3//2)'
head -n 20 /in/x
dd if=/dev/zero of=/out/z bs=1M count=1
python x.py --out /out/x --tmp /tmp/y --null /dev/null
ls -la /in
cat ./in.txt sub/dir/x
lua -e 'print(1/2)'
Rscript -e 'x <- read.csv("/in/x.csv"); print(mean(x$a))'
git -C /in/repo log --oneline
find /in ! -name x
gcc -I/in/include -o /out/a /in/a.c
make -f /in/Makefile -C /out
php -r 'echo 1/2;'
python -X utf8 -W ignore /in/x.py
python analyze.py --path /api/v2/users --log /in/access.log
grep -oP '(?<=/)\w+' /in/x
sed -n '/^#/p' /in/x
sed 's|/|_|g' /in/x
sed -e 's/\/usr\/local/X/' /in/x
cut -d'/' -f1-3 /in/x
sort -t/ -k2 /in/x
jq 'split("/")|.[0]' /in/x
jq '.paths["/users"].get' /in/openapi.json
jq -r '.[] | [.a, .b] | @csv' /in/x.json
find /in -regex '.*/[a-z]+\.csv'
tar --exclude='*/tmp/*' -cf /out/a.tar /in
rsync -a /in/ /out/
diff -r /in/a /in/b
node --input-type=module -e 'import fs from "fs"; console.log(fs.readFileSync("/in/x").length)'
perl -pe 's{/}{-}g' /in/x
perl -F/ -lane 'print $F[0]' /in/x
perl -ne 'm#^/(\w+)# and $c{$1}++; END { print "$_ $c{$_}\n" for sort keys %c }' /in/x
perl -MJSON::PP -0777 -ne 'print encode_json(decode_json($_))' /in/x.json
perl -e 'open(my $f, "<", "/in/x") or die; while (<$f>) { print }'
ruby -ne 'puts $_.split("/")[1]' /in/x
ruby -e 'puts ARGF.read[/x/]' /in/x
ruby -rcsv -e 'CSV.foreach("/in/a.csv") { |r| puts r[0] if r[1] =~ /a\/b/ }'
python -c "print('a/b'.split('/'))"
python -c "import sys, platform; print(platform.system(), sys.version)"
python3 -c 'import re; print(re.findall(r"/(\w+)/", open("/in/x").read()))'
mlr --c2j sort -nr x then put '$y = $a / $b' /in/x.csv
ffmpeg -i /in/a.mp4 -vf scale=640:-1 /out/b.mp4
convert /in/a.png -resize 50% /out/b.png
wget -O /out/x https://example.org/a?b=c
curl "https://api.example.org/v1/x?y=1&z=2"
java -jar /in/app.jar -Dx=/in/y
go run /in/main.go
env PYTHONPATH=/in/lib python /in/x.py
timeout 30s python /in/x.py --sep ';' --expr 'a > 5 && b < 3 | c'
python x.py --date 09/02/2026 --ratio 16:9 --mime image/png --tz Europe/Berlin --fmt '%H:%M' --unit km/h --name "O'Brien"
awk 'BEGIN{OFS="/"} {$1=$1; print}' /in/x
awk '{ gsub(/\//, "-"); print > "/out/x" }' /in/x
awk '!seen[$0]++' /in/x
awk -F'[/:]' '$2 ~ /^GET$/ { c[$3]++ } END { for (k in c) print c[k], k }' /in/access.log
grep -c 'sh -c' /in/audit.log
python audit.py --shell bash /in/users.csv
csvsql --query 'select a/b from t' /in/t.csv
psql -c 'select 1' postgresql://db.example.org/x
xsltproc /in/a.xsl /in/b.xml
node -p '1/2/3'
node -e 'const d = JSON.parse(require("fs").readFileSync("/in/d.json")); for (const k of Object.keys(d)) console.log(k + "/" + d[k])'
tee /out/x
python - /in/x
php -r 'echo preg_replace("/a/", "b", file_get_contents("/in/x"));'
Rscript -e 'd <- read.csv("/in/x.csv"); write.csv(aggregate(a ~ b, d, mean), "/out/y.csv")'
lua -e 'for l in io.lines("/in/x") do print(#l / 2) end'`
	for _, line := range strings.Split(lines, "\n") {
		argv, ns := Check(line)
		ns = slices.DeleteFunc(ns, func(n document.Note) bool { return n.Rule == code.RuleNetwork })
		if len(ns) > 0 || argv == nil {
			t.Errorf("%s: %+v", line, ns)
		}
	}
}

func TestNetwork(t *testing.T) {
	for line, want := range map[string]bool{
		"curl -sS https://example.org/a": true, "wget -O /out/x https://example.org/a": true,
		"git clone https://example.org/a.git": true, "git clone gi" +
			"t@git.example.org:a/b.git": true, "git fetch": true,
		"openssl s_client -connect example.org:443":             true,
		"nc 192.0.2.1 4444":                                     true,
		"ruby -rsocket -e 'TCPSocket.new(\"192.0.2.1\", 4444)'": true, "node -e 'fetch(\"http://192.0.2.1/\")'": true,
		"python3 -c 'import requests'": true, "timeout 5 curl https://example.org/": true,
		"curl --version": false, "git clone /in/a /out/b": false, "git log": false, "" +
			"openssl dgst -sha256 /in/a": false, "grep curl /in/a": false,
		"python3 main.py --url https://example.org/x": false, "node -e 'function fetch(u) { return u } " +
			"console.log(fetch(\"http://192.0.2.1/\"))'": false, "python3 -c 'from urllib.parse import quote'": false,
	} {
		_, ns := Check(line)
		if got := slices.ContainsFunc(ns,
			func(n document.Note) bool { return n.Rule == code.RuleNetwork }); got != want {
			t.Errorf("%s: %+v", line, ns)
		}
	}
}

func TestForbidden(t *testing.T) {
	tests := []struct {
		line, rule string
		offset     int
	}{
		{"a; b", "sec.shell.chaining", 1},
		{"a && b", "sec.shell.chaining", 2},
		{"a || b", "sec.shell.chaining", 2},
		{"a\nb", "request.command", 1},
		{"a\nb", "sec.shell.chaining", 2},
		{"a;", "sec.shell.chaining", 1},
		{"a | b", "sec.shell.pipeline", 2},
		{"a |& b", "sec.shell.pipeline", 2},
		{"a | cat /etc/passwd", "sec.paths.host", 8},
		{"a > /out/x", "sec.shell.redirection", 2},
		{"a < /in/x", "sec.shell.redirection", 2},
		{"a 2>&1", "sec.shell.redirection", 3},
		{"a >> x", "sec.shell.redirection", 2},
		{"a &> x", "sec.shell.redirection", 2},
		{"cat <<E\nx\nE", "sec.shell.heredoc", 4},
		{"cat <<< x", "sec.shell.heredoc", 4},
		{"a & b", "sec.shell.background", 2},
		{"a &", "sec.shell.background", 2},
		{"a $(b)", "sec.shell.substitution", 2},
		{"a \"`b`\"", "sec.shell.substitution", 3},
		{"a <(b)", "sec.shell.substitution", 2},
		{"a $(cat /etc/shadow)", "sec.paths.host", 8},
		{"a $HOME", "sec.shell.expansion", 2},
		{`a "x${Y}"`, "sec.shell.expansion", 4},
		{"a $((1+1))", "sec.shell.expansion", 2},
		{`a $'\x41'`, "sec.shell.expansion", 2},
		{"a $1", "sec.shell.expansion", 2},
		{"ls *.csv", "sec.shell.glob", 3},
		{"ls a?", "sec.shell.glob", 4},
		{"ls [ab]", "sec.shell.glob", 3},
		{"ls @(a|b)", "sec.shell.glob", 3},
		{"ls {a,b}", "sec.shell.brace", 3},
		{"ls {1..3}", "sec.shell.brace", 3},
		{"ls ~/x", "sec.shell.tilde", 3},
		{"ls ~", "sec.shell.tilde", 3},
		{"A=1 b", "sec.shell.assignment", 0},
		{"A=1", "sec.shell.assignment", 0},
		{"export A=1", "sec.shell.assignment", 0},
		{"a # b", "sec.shell.comment", 2},
		{"# b", "sec.shell.comment", 0},
		{"a !! b", "sec.shell.history", 2},
		{"!$", "sec.shell.history", 0},
		{"a !$ b", "sec.shell.history", 2},
		{"! a", "sec.shell.compound", 0},
		{"(a)", "sec.shell.compound", 0},
		{"{ a; }", "sec.shell.compound", 0},
		{"if a; then b; fi", "sec.shell.compound", 0},
		{"for i in 1; do a; done", "sec.shell.compound", 0},
		{"[[ a ]]", "sec.shell.compound", 0},
		{"time { a; }", "sec.shell.compound", 5},
		{"time a | b", "sec.shell.pipeline", 7},
		{"f() { a; }", "sec.shell.compound", 0},
		{"a 'b", "sec.shell.syntax", 2},
		{"a )", "sec.shell.syntax", 2},
		{"$ python x", "sec.shell.syntax", 0},
		{"", "sec.shell.syntax", 0},
		{"'' x", "sec.shell.syntax", 0},
		{strings.Repeat("a", MaxBytes+1), "sec.shell.syntax", 0},
		{"bash -c x", "sec.shell.program", 0},
		{"sh /in/x.sh", "sec.shell.program", 0},
		{"/bin/sh /in/x.sh", "sec.shell.program", 0},
		{"dash x", "sec.shell.program", 0},
		{"busybox ls", "sec.shell.program", 0},
		{"pwsh -c x", "sec.shell.program", 0},
		{"cmd.exe /c dir", "sec.shell.program", 0},
		{"zsh-5.9 x", "sec.shell.program", 0},
		{"'ba'sh -c x", "sec.shell.program", 0},
		{"cd /in", "sec.shell.builtin", 0},
		{"eval x", "sec.shell.builtin", 0},
		{"exec x", "sec.shell.builtin", 0},
		{"source /in/x", "sec.shell.builtin", 0},
		{"env bash -c x", "sec.shell.wrapped", 4},
		{"env -i A=1 sh -c x", "sec.shell.wrapped", 11},
		{"env -S 'sh -c x'", "sec.shell.wrapped", 7},
		{"env --split-string='bash -c x'", "sec.shell.wrapped", 4},
		{"nice -n 5 sh -c x", "sec.shell.wrapped", 10},
		{"nice -5 sh", "sec.shell.wrapped", 8},
		{"timeout -k 5 10 sh -c x", "sec.shell.wrapped", 16},
		{"timeout --foreground 10 env nohup setsid sh", "sec.shell.wrapped", 41},
		{"xargs -a /in/x -I {} sh -c {}", "sec.shell.wrapped", 21},
		{"nohup bash /in/x", "sec.shell.wrapped", 6},
		{"setsid sh", "sec.shell.wrapped", 7},
		{"stdbuf -o0 sh", "sec.shell.wrapped", 11},
		{"/usr/bin/time -v sh -c x", "sec.shell.wrapped", 17},
		{"flock /tmp/l -c 'sh x'", "sec.shell.wrapped", 16},
		{"strace --unknown x sh -c y", "sec.shell.wrapped", 19},
		{"find /in -exec sh -c x {} ';'", "sec.shell.wrapped", 15},
		{"find /in -execdir bash {} +", "sec.shell.wrapped", 18},
		{"script -c bash", "sec.shell.wrapped", 0},
		{"watch ls", "sec.shell.wrapped", 0},
		{"ssh host ls", "sec.shell.wrapped", 0},
		{"mytool -- bash -c x", "sec.shell.wrapped", 10},
		{"tar xf /in/a --to-command=sh", "sec.shell.wrapped", 13},
		{"sudo ls", "sec.privilege", 0},
		{"sudo bash", "sec.shell.wrapped", 5},
		{"su -c 'x'", "sec.privilege", 0},
		{"chroot /in sh", "sec.privilege", 0},
		{"unshare -r sh", "sec.shell.wrapped", 11},
		{"mount /dev/sda1 /mnt", "sec.devices", 6},
		{"docker run x", "sec.privilege", 0},
		{"nice sudo ls", "sec.privilege", 5},
		{`python -c 'import os; os.system("id")'`, "sec.shell.code", 25},
		{`python -Ic 'import subprocess'`, "sec.shell.code", 19},
		{`timeout 5 python3 -c 'import pty; pty.spawn("x")'`, "sec.shell.code", 29},
		{`perl -e 'system("id")'`, "sec.shell.code", 9},
		{`perl -lne 'exec "id"'`, "sec.shell.code", 11},
		{"ruby -e '`id`'", "sec.shell.code", 9},
		{`ruby -rjson -e 'system("id")'`, "sec.shell.code", 16},
		{`node -e 'require("child_process").execSync("id")'`, "sec.shell.code", 17},
		{`node --eval='require("child_process")'`, "sec.shell.code", 5},
		{`node -pe 'require("child_process")'`, "sec.shell.code", 18},
		{`python -c 'open("/etc/passwd")'`, "sec.paths.host", 17},
		{`python -c "from os import *; system(1)"`, "sec.shell.code", 26},
		{`perl -MIPC::Open3 -e 'open3(1,2,3,"id")'`, "sec.shell.code", 5},
		{`ruby -ropen3 -e 'p 1'`, "sec.shell.code", 5},
		{`node -r child_process -e '1'`, "sec.shell.code", 5},
		{`node -e "process.binding('spawn_sync')"`, "sec.shell.code", 17},
		{`python -c "open(h + '/.ssh/id_rsa')"`, "sec.paths.host", 21},
		{"env - sh", "sec.shell.wrapped", 6},
		{"perf record sh", "sec.shell.wrapped", 12},
		{"cat /etc/passwd", "sec.paths.host", 4},
		{"cat '/etc/passwd'", "sec.paths.host", 5},
		{"cat /in/../etc/passwd", "sec.paths.host", 4},
		{"cat ../x", "sec.paths.host", 4},
		{"cat '~/x'", "sec.paths.host", 5},
		{"python x.py --config=/etc/x", "sec.paths.host", 21},
		{"gcc -I/usr/include /in/a.c", "sec.paths.host", 6},
		{"/usr/bin/python3 /in/x.py", "sec.paths.host", 0},
		{"curl file:///etc/passwd", "sec.paths.host", 5},
		{"curl --unix-socket /var/run/docker.sock http://x/", "sec.paths.host", 19},
		{"ls /", "sec.paths.host", 3},
		{"find / -name x", "sec.paths.host", 5},
		{"grep x /etc/passwd", "sec.paths.host", 7},
		{"grep -e x /etc/passwd", "sec.paths.host", 10},
		{"sed --expression=p /etc/passwd", "sec.paths.host", 19},
		{"sed 'r /etc/passwd' /in/x", "sec.paths.host", 7},
		{"sed 's/a/b/w /etc/x' /in/x", "sec.paths.host", 13},
		{"awk '{ getline x < \"/etc/passwd\" }'", "sec.paths.host", 20},
		{"awk -f /etc/x /in/y", "sec.paths.host", 7},
		{"awk -v p=/etc/x '{print p}' /in/y", "sec.paths.host", 9},
		{"jq . /root/x", "sec.paths.host", 5},
		{"tar czf /out/a /home/alice", "sec.paths.host", 15},
		{"dd if=/dev/sda of=/out/x", "sec.devices", 6},
		{"cat /dev/mem", "sec.devices", 4},
		{"pip install x", "sec.packages", 0},
		{"python -m pip install x", "sec.packages", 0},
		{"env A=1 pip install x", "sec.packages", 8},
		{"npm install", "sec.packages", 0},
		{"timeout 60 apt-get -y install x", "sec.packages", 11},
		{"bash -c 'pip install x'", "sec.packages", 8},
		{"sudo apt-get install x", "sec.packages", 5},
		{`python -c 'import pip; pip.main(["install","x"])'`, "sec.packages", 18},
		{"env env env env env env env env env ls", "sec.shell.wrapped", 28},
	}
	for _, tt := range tests {
		argv, ns := Check(tt.line)
		if !slices.ContainsFunc(ns, func(n document.Note) bool { return n.Rule == tt.rule && n.Offset == tt.offset }) {
			t.Errorf("%.60q: no %s at %d in %+v", tt.line, tt.rule, tt.offset, ns)
		}
		for _, n := range ns {
			if n.Message == "" || n.Hint == "" || n.Offset > len(tt.line) {
				t.Errorf("%.60q: bad note %+v", tt.line, n)
			}
		}
		if shape := strings.HasPrefix(tt.rule, "sec.shell."); shape && argv != nil &&
			!slices.Contains([]string{"sec.shell.program", "sec.shell.wrapped", "sec.shell.builtin", "sec.shell.code",
				"sec.shell.syntax"}, tt.rule) {
			t.Errorf("%q gave %q", tt.line, argv)
		}
	}
}

// The options of an interpreter stand in one table: what has a value takes it, code in an
// option is judged, and an option that is not in the table is refused.
func TestInterpreterOptions(t *testing.T) {
	for line, rule := range map[string]string{
		"python -Im pip install x":                                               "sec.packages",
		"python -m cProfile -m pip install x":                                    "sec.packages",
		"python -m cProfile -o /out/p -s time -m pip install x":                  "sec.packages",
		"python -m runpy pip install x":                                          "sec.packages",
		"python -m trace --count --module pip install x":                         "sec.packages",
		"python -m pdb -m pip install x":                                         "sec.packages",
		"python -m venv /tmp/v":                                                  "sec.packages",
		"python -Bm venv /tmp/v":                                                 "sec.packages",
		"python -X importtime -W ignore -m pip install x":                        "sec.packages",
		"python -W=ignore -mpip install x":                                       "sec.packages",
		"python -- /in/setup.py install":                                         "sec.packages",
		`python --check-hash-based-pycs never -c "import os; os.system('id')"`:   "sec.shell.code",
		`python -m timeit -s "import os" "os.system('id')"`:                      "sec.shell.code",
		`python -m timeit --setup="import os; os.system('id')" 1`:                "sec.shell.code",
		`python -m pdb -c "!import os; os.system('id')" /in/a.py`:                "sec.shell.code",
		`python -m 'os; x' /in/a.py`:                                             "sec.shell.code",
		`python -c 'import sys; exec(sys.argv[1])' 'import os; os.system("id")'`: "sec.code.dynamic",
		`perl -M'POSIX;exec(q(perl))' -e 1`:                                      "sec.shell.code",
		`perl -M'POSIX qw(floor);exec(q(perl))' -e 1`:                            "sec.shell.code",
		`perl -mPOSIX=x};exec(1) -e 1`:                                           "sec.shell.syntax",
		`perl '-mPOSIX=x};exec(1)' -e 1`:                                         "sec.shell.code",
		`perl -d:'Foo;exec(1)' /in/a.pl`:                                         "sec.shell.code",
		`perl -F'/x/,system(q(id)),/y/' -ane 1 /in/x`:                            "sec.shell.code",
		`perl '-F: -Mx' -ane 1 /in/x`:                                            "sec.shell.code",
		`perl -0777 -C7 -l012 -i.bak -e 'exec "id"' /in/x`:                       "sec.shell.code",
		`perl -0777lne 'exec "id"' /in/x`:                                        "sec.shell.code",
		`perl -de 'exec "id"'`:                                                   "sec.shell.code",
		`perl -ne 'print if /(?{exec "id"})x/' /in/x`:                            "sec.shell.code",
		`perl -MCPAN -e install`:                                                 "sec.packages",
		`perl -e 'eval $ARGV[0]' 'exec "id"'`:                                    "sec.code.dynamic",
		`perl --eval 'exec "id"'`:                                                "sec.shell.syntax",
		`ruby --encoding utf-8 -e 'system "id"'`:                                 "sec.shell.code",
		`ruby --external-encoding=utf-8 -e 'system "id"'`:                        "sec.shell.code",
		`ruby --enable gems --backtrace-limit 5 -e 'system "id"'`:                "sec.shell.code",
		`ruby -Kue 'system "id"'`:                                                "sec.shell.code",
		`ruby -W0e 'system "id"'`:                                                "sec.shell.code",
		`ruby -W:no-deprecated -e 'system "id"'`:                                 "sec.shell.code",
		`ruby -e 'send(*ARGV)' system id`:                                        "sec.code.dynamic",
		`ruby -e 'Kernel.public_send(*ARGV)' system id`:                          "sec.code.dynamic",
		`ruby -e 'send(:system, "id")'`:                                          "sec.shell.code",
		`ruby -r '/in/a; system' -e 1`:                                           "sec.shell.code",
		`ruby --crash-report='|id' -e 1`:                                         "sec.shell.syntax",
		`node --input-type module --eval "import('child_process')"`:              "sec.shell.code",
		`node --input_type module --eval "import('child_process')"`:              "sec.shell.code",
		`node --no-warnings -pe "require('child_process')"`:                      "sec.shell.code",
		`node --max-old-space-size=256 --eval "require('child_process')"`:        "sec.shell.code",
		`node --import 'data:text/javascript,process.kill(1)' /in/a.js`:          "sec.shell.code",
		`node --experimental-loader=data:text/javascript,1 /in/a.js`:             "sec.shell.code",
		`node --require child_process -e 1`:                                      "sec.shell.code",
		`node --run build`:                                                       "sec.shell.syntax",
		`node --expose-internals -e 1`:                                           "sec.shell.syntax",
		`node -e 'eval(process.argv[1])' 'require("child_process")'`:             "sec.code.dynamic",
		`env NODE_OPTIONS='--import data:text/javascript,1' node /in/a.js`:       "sec.shell.code",
		`env PERL5OPT='-MPOSIX;exec(1)' perl /in/a.pl`:                           "sec.shell.code",
		`env RUBYOPT=-ropen3 ruby /in/a.rb`:                                      "sec.shell.code",
		`env PERL5DB='exec "id"' perl -d /in/a.pl`:                               "sec.shell.code",
		`python --frobnicate /in/a.py`:                                           "sec.shell.syntax",
		"python -m cProfile -m cProfile -m cProfile -m cProfile -m cProfile -m cProfile -m cProfile -m cProfile -m pip": "sec.shell.code",
	} {
		_, ns := Check(line)
		if !slices.ContainsFunc(ns, func(n document.Note) bool {
			return n.Rule == rule && (rule != "sec.code.dynamic" || n.Severity == schemas.SeverityBlocking)
		}) {
			t.Errorf("%s: no %s in %+v", line, rule, ns)
		}
	}
	for line := range strings.Lines(`python -IBuO /in/a.py -m pip install x
python -X dev -X utf8=1 -Wdefault --check-hash-based-pycs always /in/a.py
python -m json.tool --indent 2 /in/a.json
python -m unittest discover -s /in -p 'test_*.py' -v
python -m cProfile -o /out/a.prof -s cumtime /in/a.py --data /in/x.csv
python -m timeit -n 100 -s 'x = list(range(99))' 'sorted(x)'
python -m trace --count -C /out /in/a.py
python -m pdb --help
python -m doctest -v /in/a.py
python -VV
python --help
perl -MList::Util=sum,max -MPOSIX='floor,ceil' -e 'print floor(sum(1, 2))'
perl -M'Time::Piece' -M-warnings -M5.010 -Mopen=:std,:utf8 -e 'say localtime->ymd'
perl -M'List::Util qw(first sum)' -e 'print sum(1, 2)'
perl -CSDA -F'\t' -lane 'print $F[0]' /in/x.tsv
perl -F, -ane 'print $F[0]' /in/x.csv
perl -F'/\s*;\s*/' -ane 'print $F[0]' /in/x.csv
perl -i.bak -pe 's/a/b/' /tmp/x
perl -wT -Mstrict /in/a.pl -e x
perl -00 -ne 'print if /x/' /in/x
perl -ne 'eval { print uc shift @F }' /in/x
perl -d:DProf /in/a.pl
ruby -W0 -Eutf-8:utf-8 -rjson -rset -e 'puts JSON.parse(ARGF.read).size' /in/a.json
ruby --disable-gems --disable=did_you_mean --yjit /in/a.rb
ruby -F, -ane 'puts $F[1]' /in/a.csv
ruby -ne 'puts $_.send(:upcase)' /in/a.txt
node --max-old-space-size=512 --stack_size=2000 --no-warnings --trace-uncaught /in/a.js --eval x
node --test --test-reporter spec /in/a.test.js
node -r /in/setup.js /in/a.js
node --input-type=module -e 'import fs from "node:fs"; console.log(fs.readFileSync("/in/x").length)'
node -p '1+1'
env NODE_OPTIONS=--max-old-space-size=200 node /in/a.js
env RUBYOPT='-W0' ruby /in/a.rb`) {
		if argv, ns := Check(strings.TrimRight(line, "\n")); len(ns) > 0 || argv == nil {
			t.Errorf("%s: %+v", line, ns)
		}
	}
}

// A pattern names no file.
func TestPatternsAreNoPaths(t *testing.T) {
	for line, bad := range map[string]bool{
		"python /in/du.py --exclude /proc,/sys": false, "tar -cf /out/a.tar --exclude=/etc/ssl --exclude=/proc /in/x": false,
		"grep -rn --include '/etc/*.conf' listen /in/conf": false, "python /in/plot.py --title 'Growth of /var/log'": false,
		"find /in -not -path '/in/.git/*' -name '/etc'": false,
		"python /in/du.py --exclude-from /etc/x":        true, "python /in/du.py --root /proc --exclude x": true,
	} {
		if _, ns := Check(line); (len(ns) > 0) != bad {
			t.Errorf("%s: %+v", line, ns)
		}
	}
}

// Every rule that is emitted must be in the catalogue and block.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"python x.py 'a;b'", "a && b | c > d", "env -S 'sh -c x' $(y) {a,b} ~",
		"sed 's/a/b/e;1r /etc/x'", "find / -exec perl -e 'system(1)' ;", "a <<E\nE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		argv, ns := Check(line)
		if argv == nil && len(ns) == 0 {
			t.Fatalf("%q: refused without a reason", line)
		}
		for _, n := range ns {
			if _, ok := schemas.RuleByID(n.Rule); !ok {
				t.Fatalf("%q: unknown rule %s", line, n.Rule)
			}
			if n.Offset < 0 || n.Offset > len(line) {
				t.Fatalf("%q: place of %+v", line, n)
			}
		}
		again, _ := Check(line)
		if !slices.Equal(argv, again) {
			t.Fatalf("%q: two answers", line)
		}
	})
}
