package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/cmd/threegate/internal/term"
	"github.com/threegate/tool-exec/executors/image"
	"github.com/threegate/tool-exec/executors/job"
	"github.com/threegate/tool-exec/schemas"
)

func newImage(a *app) *cobra.Command {
	cmd := cli.Group("image", "List, check and build the images that programs run in")
	var layout string
	below := func(c *cobra.Command) {
		a.NodeFlag(c)
		c.Flags().StringVar(&layout, "images", "", "OCI image layout `folder` (default: backends.images of the node)")
		_ = c.MarkFlagDirname("images")
		cmd.AddCommand(c)
	}
	below(&cobra.Command{
		Use:   "list [NAME...]",
		Short: "List the images of a layout: all, or those named",
		Example: `  threegate image list --images build/images
  threegate image list --json | jq -r '.[].digest'`,
		RunE: func(_ *cobra.Command, args []string) error {
			_, entries, err := a.images(layout, args)
			if err != nil {
				return err
			}
			return a.printImages(entries)
		},
	})
	below(&cobra.Command{
		Use:     "verify [NAME...]",
		Short:   "Check every byte of the images against their digests",
		Example: "  threegate image verify\n  threegate image verify python --images build/images",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, entries, err := a.images(layout, args)
			if err != nil {
				return err
			}
			if err := verifyImages(cmd.Context(), dir, entries); err != nil {
				return err
			}
			return a.printImages(entries)
		},
	})
	below(a.newImageAdd(&layout))
	below(a.newImageBuild(&layout))
	below(a.newImagePack(&layout))
	below(a.newImageExport(&layout))
	return cmd
}

func (a *app) newImageAdd(layout *string) *cobra.Command {
	return &cobra.Command{
		Use:   "add FOLDER",
		Short: "Copy the images of another layout into this one",
		Long: `add copies every image that has a name in the layout FOLDER, checks each byte against
its digest, and gives it that name here. An image that had the name stays under its
digest: a node that has it pinned goes on with it until threegate.yaml says otherwise.`,
		Example: "  threegate image add /usr/share/threegate/images",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.imagesDir(*layout)
			if err != nil {
				return err
			}
			added, err := image.Add(cmd.Context(), args[0], dir)
			if err != nil {
				return cli.Troublef(err, "", "not all images of %s are in %s", args[0], dir)
			}
			return a.printImages(added)
		},
	}
}

func verifyImages(ctx context.Context, dir string, entries []image.Entry) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := image.Verify(dir, e.Digest); err != nil {
			return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeFileIO, Cause: err,
				Message: fmt.Sprintf("image %s: %v", e.Name, err),
				Hint:    "build it again: deploy/images/build " + dir + " " + e.Name}
		}
	}
	return nil
}

func (a *app) newImagePack(layout *string) *cobra.Command {
	cfg := image.Config{WorkingDir: "/in", User: fmt.Sprintf("%d:%d", job.PayloadUID, job.PayloadGID)}
	c := &cobra.Command{
		Use:   "pack ROOTFS.tar NAME",
		Short: "Make an image of a root filesystem",
		Long: `pack makes one image of a tar archive, puts it into the layout and prints its
digest. The same archive and flags give the same digest. An image that had the
name before stays in the layout under its digest. Packing changes no node: pin the
digest in threegate.yaml.`,
		Example: "  threegate image pack lua.tar lua --version 5.4.4 --images build/images",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := a.imagesDir(*layout)
			if err != nil {
				return err
			}
			if err := image.CheckName(args[1]); err != nil {
				return cli.Usagef("", "%v", err)
			}
			digest, err := image.Pack(args[0], args[1], cfg, dir)
			if err != nil {
				return cli.Troublef(err, "", "can't pack %s", args[0])
			}
			if a.JSON {
				return a.PrintJSON(map[string]string{"name": args[1], "digest": digest})
			}
			fmt.Fprintln(a.UI.Out, digest)
			a.UI.Hint(fmt.Sprintf("pin it in threegate.yaml: backends.era.languages.%s.image: %q", args[1], digest))
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&cfg.Version, "version", "", "version of the language")
	fl.StringVar(&cfg.Recipe, "recipe", "", "what the image was built from")
	fl.StringArrayVar(&cfg.Env, "env", nil, "environment `K=V` that the program expects (repeatable)")
	fl.StringArrayVar(&cfg.Cmd, "cmd", nil, "one `argument` of the default command (repeatable)")
	return c
}

func (a *app) newImageExport(layout *string) *cobra.Command {
	var archive bool
	c := &cobra.Command{
		Use:   "export NAME",
		Short: "Write the files of an image to standard output, as a tar archive",
		Long: `export writes the files that programs see in an image, as a tar archive. With --oci it
writes the image itself, as an OCI archive that containerd and other tools import.`,
		Example: `  threegate image export python | tar -t
  threegate image export python --oci | ctr images import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, entries, err := a.images(*layout, args)
			if err != nil {
				return err
			}
			e := entries[0]
			if archive {
				err = image.Archive(cmd.Context(), dir, e.Digest, e.Name, a.UI.Out)
			} else {
				err = image.Rootfs(cmd.Context(), dir, e.Digest, a.UI.Out)
			}
			if err != nil {
				return cli.Troublef(err, "threegate image verify checks the layout", "can't export %s", e.Name)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&archive, "oci", false, "write an OCI archive")
	return c
}

func (a *app) imagesDir(layout string) (string, error) {
	if layout != "" {
		return layout, nil
	}
	l, err := a.LoadNode()
	if err != nil {
		return "", err
	}
	return l.Backends.Images, nil
}

// images are those that have the names now, or without names all of the layout.
func (a *app) images(layout string, names []string) (dir string, found []image.Entry, err error) {
	if dir, err = a.imagesDir(layout); err != nil {
		return "", nil, err
	}
	all, err := image.List(dir)
	if err != nil && !errors.Is(err, image.ErrNotFound) {
		return "", nil, cli.Troublef(err, "", "can't read the images in %s", dir)
	}
	missing := func(what string) error {
		return cli.NotFoundf("build it: deploy/images/build "+dir, "there %s in %s", what, dir)
	}
	if len(names) == 0 {
		if err != nil {
			return "", nil, missing("are no images")
		}
		return dir, all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(e image.Entry) bool { return e.Name == name && !e.Replaced })
		if i < 0 {
			return "", nil, missing("is no image " + name)
		}
		found = append(found, all[i])
	}
	return dir, found, nil
}

func (a *app) printImages(entries []image.Entry) error {
	if a.JSON {
		return a.PrintJSON(append([]image.Entry{}, entries...))
	}
	var rows [][]string
	for _, e := range entries {
		note := ""
		if e.Replaced {
			note = "replaced"
		}
		rows = append(rows, []string{e.Name, e.Version, term.Bytes(e.UnpackedSize), e.Digest, note})
	}
	head := []string{"NAME", "VERSION", "SIZE", "DIGEST", ""}
	return term.ListBelow(a.UI.Out, a.UI.OutStyle, a.UI.Wide(), 2, head, rows)
}
