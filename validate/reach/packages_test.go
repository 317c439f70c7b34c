package reach

import (
	"strings"
	"testing"
)

func TestInstalls(t *testing.T) {
	bad := `pip install x|pip3 install -r /in/r.txt|pip3.11 --no-cache-dir install x|pip download x
/in/setup.py install|get-pip.py|uv pip install x|uv add x|uvx ruff
poetry add x|poetry install|pipenv install|conda install -y x|conda env create -f e.yml|mamba create -n x
npm install|npm i x|npm ci|npx cowsay|npm --prefix /tmp install x|yarn|yarn add x|pnpm add x|bun add x
gem install x|bundle install|bundle|cargo install x|go install x@latest|go get x
apt install x|apt-get -y install x|apt-get -o A=b install x|apt-get update|dnf install x|yum -y install x
apk add x|apk --no-cache add x|pacman -Syu x|brew install x|cpan JSON|cpanm JSON::XS
luarocks install x|composer require x|composer install|R CMD INSTALL x|dpkg -i x.deb|rpm -ivh x.rpm
nix-env -iA x|nix-shell -p x|/usr/bin/pip install x|snap install x|dotnet add package x|deno install x
rpm --import k`
	for _, s := range strings.FieldsFunc(bad, func(c rune) bool { return c == '|' || c == '\n' }) {
		if _, ok := Installs(strings.Fields(s)); !ok {
			t.Errorf("%q is not recognised", s)
		}
	}
	good := `pip list|pip --version|pip show x|npm run build|npm test|npm --version|yarn --version|yarn run x|go run /in/x.go|go build x
cargo build
gem list|bundle exec x|node install.js|apt list|apt-cache search x|dpkg -l|rpm -qa|jq .install /in/x
grep install /in/log|install -m 644 a b|make install|python -c install|R CMD check|perl /in/x.pl
cpan --version|conda list|awk install|sort -u`
	for _, s := range strings.FieldsFunc(good, func(c rune) bool { return c == '|' || c == '\n' }) {
		if what, ok := Installs(strings.Fields(s)); ok {
			t.Errorf("%q is taken for %q", s, what)
		}
	}
}

func TestInstallsModule(t *testing.T) {
	for words, want := range map[string]bool{
		"pip install x": true, "venv /tmp/v": true, "ensurepip": true, "json.tool x": false, "pip list": false,
		"pip --version": false, "pip3 download x": false,
	} {
		if what, ok := InstallsModule(strings.Fields(words)); ok != want {
			t.Errorf("%q: %q, %v", words, what, ok)
		}
	}
}

func TestInstallsInProse(t *testing.T) {
	bad := []string{
		"Run pip install pandas first.", "First `pip install numpy`, then count.", "python -m pip install x",
		"Please install the pandas package.",
		"If the import fails, no worries, please install numpy with pip.", "When it is missing, there is no other " +
			"way, so install the package scipy.",
		"Install pandas with pip before running.", "The script will install missing dependencies.",
		"apt-get install -y jq and run.", "Needs npm install to be run.",
		"Use npx cowsay.", "Install the following Python libraries: pandas.",
		"This requires installing packages from PyPI.", "sudo apt install jq", "go get github.com/a/b",
		"cpanm JSON::XS", "Call install.packages('x').", "Add the dependency with npm.", "conda create -n x",
		"Then brew install jq", "Install requirements.txt",
		"The container image lacks jq; apk add jq.", "No harm. Install the requests library.", "set up numpy via pip",
		"Don't forget to install pandas.", "DON'T FORGET TO INSTALL PANDAS.",
		"Never forget to pip install numpy first.", "Make sure that pandas is " +
			"installed first.", "Requires pandas to be installed.", "Download and install the latest numpy.",
		"Use pip to get pandas.", "Install jq and run the filter.", "The job runs npm install and then tests.",
		"Before it starts, npm ci has to be called.", "If it fails, pip install pandas.",
	}
	for _, s := range bad {
		if len(InstallsInProse(s)) == 0 {
			t.Errorf("%q is not recognised", s)
		}
	}
	good := []string{
		"No packages need installing.", "No packages are installed.", "Does not install anything.", "Nothing is ins" +
			"talled and no package is fetched.", "Runs without pip install or similar.",
		"Counts the installed packages in a list.", "Statistics of package installs per day.", "Parses the apt log " +
			"and lists install events of packages.", "The image has pandas already installed.",
		"Adds up the package weights.", "Installing packages is not needed.", "Summarises npm download counts.", "I" +
			"nstallation of solar panels per region.", "Sorts cargo manifests of ships.", "The gem prices per carat.",
		"Standard library only; never installs packages.", "Reads requirements and prints them.", "Uses only the st" +
			"andard library, so there is no need to install packages.", "Fetches nothing.",
		"Add the columns and go get the mean.",
		"It won't install any dependency.", "Add a library column to the table.", "Nothing must be installed.", "pa" +
			"ndas is already installed in the image and must be installed nowhere else.",
		"Reports which install dates the packages have.", "Find out why npm install fails on the build machine.",
		"Since Monday `npm install` fails with ERESOLVE; summarise the log.", "The log of pip install is attached.",
		"Our step 'npm ci' took 14 minutes; list the slowest lines.", "pip install crashed yesterday.",
		"Counts the warnings from npm install.",
	}
	for _, s := range good {
		if got := InstallsInProse(s); len(got) > 0 {
			t.Errorf("%q is taken for %+v", s, got)
		}
	}
	text := "Fine. Then pip install x."
	if got := InstallsInProse(text); len(got) != 1 || text[got[0].Offset:got[0].End] != "pip install" {
		t.Errorf("place: %+v", got)
	}
}
