// Package node holds the commands that make, check and serve a node: init, config, image,
// doctor, posture, serve, hold, resume and run.
package node

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/gate/config"
)

// defaultImages is where a package puts images.
const defaultImages = "/var/lib/threegate/images"

func newInit(a *app) *cobra.Command {
	var n cli.NewNode
	var ifAbsent bool
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Make a node",
		Long: `init makes a node's folders and a first ` + config.FileName + ` that pins every image found in
the images folder by digest. It changes nothing in a folder that is a node already.

Images are built from Debian packages by deploy/images/build FOLDER.

With --service the node uses the services that the package brings: threegate-containerd,
and threegate-sandboxes, which holds the control groups of all sandboxes.`,
		Example: `  threegate init /var/lib/threegate
  threegate init ./node --images build/images --name lab-1`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.initNode(args[0], n, ifAbsent) },
	}
	cmd.Flags().BoolVar(&n.Service, "service", false, "use the services of the package")
	cmd.Flags().BoolVar(&ifAbsent, "if-absent", false, "succeed without a change if DIR is a node already")
	cmd.Flags().StringVar(&n.Images, "images", defaultImages, "`folder` of the images to pin, an OCI image layout")
	cmd.Flags().StringVar(&n.Name, "name", "tool-exec", "`name` of the node, stated in every result")
	_ = cmd.MarkFlagDirname("images")
	return cmd
}

func (a *app) initNode(dir string, n cli.NewNode, ifAbsent bool) error {
	pinned, err := cli.CreateNode(dir, n)
	if errors.Is(err, fs.ErrExist) {
		if ifAbsent {
			return nil
		}
		return &cli.Fault{Exit: cli.ExitBusy, Code: "E_FILE_IO", Message: dir + " is a node already", Cause: err,
			Hint: "threegate config show --node " + dir + " prints its configuration"}
	}
	if err != nil {
		return cli.Troublef(err, "", "can't make a node in %s", dir)
	}
	cfg, err := cli.LoadConfig(dir)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			Node   string        `json:"node"`
			Config string        `json:"config"`
			Images []image.Entry `json:"images"`
		}{cfg.Dir, cfg.File, pinned})
	}
	fmt.Fprintf(a.UI.Out, "Made a node in %s.\n", cfg.Dir)
	for _, e := range pinned {
		fmt.Fprintf(a.UI.Out, "  %-12s %-10s %s\n", e.Name, e.Version, e.Digest)
	}
	if len(pinned) == 0 {
		fmt.Fprintf(a.UI.Out,
			"No image was found in %s, so it can run nothing yet.\n"+
				"Build images with deploy/images/build, then pin them in %s.\n", n.Images, cfg.File)
	}
	fmt.Fprintf(a.UI.Out, "Next: threegate doctor --node %s, then threegate serve --node %s\n", dir, dir)
	return nil
}

type app struct{ *cli.App }

// Hidden are commands that others of this package call.
func Hidden(c *cli.App) []*cobra.Command {
	return []*cobra.Command{newTry(&app{c})}
}

// Commands are those of this package.
func Commands(c *cli.App) []*cobra.Command {
	a := &app{c}
	return []*cobra.Command{newInit(a), newConfig(a), newImage(a), newDoctor(a), newPosture(a), newServe(a), newRun(a),
		newQuickstart(a), newHold(a), newResume(a)}
}
