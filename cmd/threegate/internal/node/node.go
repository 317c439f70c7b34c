// Package node holds the commands that make, check and serve a node: init, config, image,
// doctor, posture, serve, hold, resume and run.
package node

import (
	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
)

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
