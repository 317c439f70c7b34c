package node

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

func (a *app) newImageBuild(layout *string) *cobra.Command {
	var update, force bool
	c := &cobra.Command{
		Use:   "build [NAME...]",
		Short: "Build language images from Debian packages",
		Long: `build makes the named images, or an image of each recipe, and puts them into the
layout. It runs deploy/images/build. No registry is involved, and the same packages
give the same digest. An image that exists already, from the same recipe and package
versions, is skipped. Building changes no node: pin the digests in threegate.yaml.`,
		Example: "  threegate image build python monty --images build/images\n  threegate image build --update",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.imagesDir(*layout)
			if err != nil {
				return err
			}
			script, err := buildScript()
			if err != nil {
				return err
			}
			call := append([]string{dir}, args...)
			if update {
				call = append(call, "--update")
			}
			if force {
				call = append(call, "--force")
			}
			build := exec.CommandContext(cmd.Context(), script, call...)
			if self, err := os.Executable(); err == nil {
				build.Env = append(os.Environ(), "THREEGATE="+self)
			}
			build.Stdout, build.Stderr = a.UI.Err, a.UI.Err // messages for people
			if err := build.Run(); err != nil {
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				return cli.Troublef(err, "the messages above say why", "the images were not all built")
			}
			_, entries, err := a.images(dir, nil)
			if err != nil {
				return err
			}
			return a.printImages(entries)
		},
	}
	c.Flags().BoolVar(&update, "update", false, "fetch the lists of packages now")
	c.Flags().BoolVar(&force, "force", false, "rebuild images that exist already")
	return c
}

// buildScript is the script that builds images: that of a checkout whose bin/ holds this
// program, or that of a package.
func buildScript() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", cli.Troublef(err, "", "can't find the folder of this program")
	}
	for _, p := range []string{"../deploy/images/build", "../share/threegate/images/build"} {
		p = filepath.Join(filepath.Dir(self), p)
		if _, err := os.Stat(p); err == nil {
			return p, nil
		}
	}
	return "", cli.NotFoundf("run deploy/images/build of the sources",
		"the script that builds images is not installed with %s", self)
}
