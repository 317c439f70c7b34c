package reach

import (
	"strings"
	"testing"
)

func FuzzInstalls(f *testing.F) {
	for _, s := range []string{"Run pip install x. Then go.", "python3 -m pip install y",
		"/usr/bin/apt-get -y install z", "请先安装 numpy 包。", "a\n\n- npm i x!?", "install the package"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, spans := range [][]Span{InstallsInText(text), InstallsInProse(text)} {
			if len(spans) > maxSpans {
				t.Fatalf("%d places", len(spans))
			}
			for _, s := range spans {
				if s.Offset < 0 || s.End > len(text) || s.Text != text[s.Offset:s.End] {
					t.Fatalf("%+v in %q", s, text)
				}
			}
		}
		Installs(strings.Fields(text))
		if argv := strings.Fields(text); len(argv) > 0 {
			InstallsModule(argv)
		}
	})
}
