package reach

import "testing"

func TestPaths(t *testing.T) {
	tests := []struct {
		text string
		ctx  Context
		want Kind
	}{
		{"/in/a.csv", Argument, ""},
		{"/out", Argument, ""},
		{"/tmp/x", Argument, ""},
		{"/input/a.csv", Argument, Host},
		{"/etc/passwd", Argument, Host},
		{"//etc/passwd", Argument, Host},
		{"/in/../etc/passwd", Argument, Host},
		{"../x", Argument, Escape},
		{"a/../../b", Argument, Escape},
		{"--dir=..", Argument, Escape},
		{"--config=/etc/x", Argument, Host},
		{"--data=/secrets/x", Argument, Host},
		{"-I/etc", Argument, Host},
		{"-I/in/inc", Argument, ""},
		{"if=/dev/sda", Argument, Device},
		{"of=/dev/null", Argument, ""},
		{"/dev/shm/x", Argument, Device},
		{"/dev/tcp/a/80", Argument, Device},
		{"/dev/nullx", Argument, Device},
		{"file:///etc/passwd", Argument, Host},
		{"FILE:/etc/passwd", Argument, Host},
		{"file://localhost/etc/passwd", Argument, Host},
		{"file:///%65tc/passwd", Argument, Host},
		{"file:///in/a", Argument, ""},
		{"--url=file:///root/x", Argument, Host},
		{"https://example.org/etc/passwd", Argument, ""},
		{"s3://bucket/etc/x", Argument, ""},
		{"sqlite:////var/x.db", Argument, Host},
		{"sqlite:///x.db", Argument, ""},
		{"unix:///var/run/docker.sock", Argument, Socket},
		{"/var/run/docker.sock", Argument, Socket},
		{"jdbc:sqlite:/etc/x.db", Argument, Host},
		{"/etc:/x", Argument, Host},
		{"@/etc/passwd", Argument, Host},
		{"a,/etc/passwd", Argument, Host},
		{"~/x", Argument, Home},
		{"~root/x", Argument, Home},
		{"--out=~/x", Argument, Home},
		{"C:\\Windows\\x", Argument, Host},
		{"C:/Windows/x", Argument, Host},
		{"\\\\server\\share", Argument, Host},
		{"/", Argument, Host},
		{"s/a/b/", Argument, ""},
		{"2026/02/09", Argument, ""},
		{"a/b", Argument, ""},
		{"1/2", Argument, ""},
		{"application/json", Argument, ""},
		{"./x/y.py", Argument, ""},
		{"km/h and /day", Argument, ""},
		{"errors / warnings", Argument, ""},
		{"%Y/%m/%d", Argument, ""},
		{"1..5", Argument, ""},
		{"HEAD~2..HEAD", Argument, ""},
		{"a...b", Argument, ""},
		{"/data/customers.csv", Argument, Host},
		{"/workspace", Argument, Host},
		{"/api/v2/users", Argument, ""},
		{"/api/key.pem", Argument, Host},
		{"/api/v1/users", Literal, ""},
		{"/", Literal, ""},
		{"/home", Literal, ""},
		{"/home/alice/x", Literal, Host},
		{"/etc/passwd", Literal, Host},
		{"cat /etc/passwd", Literal, Host},
		{"/data/customers.csv", Literal, Host},
		{"/secret/x.pem", Literal, Host},
		{"/index.html", Literal, ""},
		{"/api/report.json", Literal, ""},
		{"<a href=\"/users\">", Literal, ""},
		{"//cdn.example.org/x.js", Literal, ""},
		{"..", Literal, ""},
		{"../secret", Literal, Escape},
		{"\\\\d+\\\\w", Literal, ""},
		{"/srv/x", Used, Host},
		{"/anything", Used, Host},
		{"/", Used, Host},
		{"/in/x", Used, ""},
		{"in/x", Used, ""},
		{"Reads /etc/passwd and more.", Prose, Host},
		{"Reads /etc.", Prose, Host},
		{"Counts requests to /api/users and/or /home.", Prose, ""},
		{"Writes /out/x.csv (rows/day).", Prose, ""},
		{"~5 rows, ca. 1/2", Prose, ""},
		{"Opens /dev/kvm", Prose, Device},
		{`style="x:\x0Aexpression(1)"`, Literal, ""},
		{`a:\d+ b:\n`, Literal, ""},
		{`"C:\xampp\htdocs"`, Literal, Host},
		{`C:\new folder`, Argument, Host},
	}
	for _, tt := range tests {
		refs := Paths(tt.text, tt.ctx)
		var got Kind
		if len(refs) > 0 {
			got = refs[0].Kind
			if tt.text[refs[0].Offset:refs[0].End] != refs[0].Path {
				t.Errorf("%q: place of %+v", tt.text, refs[0])
			}
		}
		if got != tt.want {
			t.Errorf("Paths(%q, %d) = %+v, want %q", tt.text, tt.ctx, refs, tt.want)
		}
	}
}
