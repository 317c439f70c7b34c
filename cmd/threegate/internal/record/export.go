package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/threegate/tool-exec/cmd/threegate/internal/bundle"
	"github.com/threegate/tool-exec/cmd/threegate/internal/cli"
	"github.com/threegate/tool-exec/quarantine"
	"github.com/threegate/tool-exec/schemas"
	"github.com/threegate/tool-exec/spool"
	"github.com/threegate/tool-exec/validate/corpus"
)

func newExport(a *app) *cobra.Command {
	var number int
	cmd := &cobra.Command{
		Use:   "export ITEM",
		Short: "Write a false alarm as a test case for the rules",
		Long: `export writes the lines that a finding is about as a case of testdata/corpus: harmless text that
the rule must not find. Export it before you release the item. --finding names the finding by
its number in quarantine show; it is not needed if only one can be released.

What looks like a secret is replaced by made-up characters of the same shape, which the same
rule finds. All other words of the lines are as they came: read them before you give them away.`,
		Example: `  threegate quarantine export TR-20260209-160501Z-python-stats --finding 2 > case.txt
  cp case.txt testdata/corpus/secret/checksums.txt && make accuracy`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeItems,
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.quarantine()
			if err != nil {
				return err
			}
			it, err := findQuarantined(store, args[0])
			if err != nil {
				return err
			}
			if it.Damage != nil {
				return cli.Troublef(it.Damage, "the item lies in "+it.Dir, "item %s", it.ID)
			}
			return a.export(it, number)
		},
	}
	a.NodeFlag(cmd)
	cmd.Flags().IntVar(&number, "finding", 0, "the `number` of the finding")
	return cmd
}

func (a *app) export(it quarantine.Item, number int) error {
	can := map[int]bool{}
	var all []int
	for _, x := range it.Reasons.Releasable {
		if !can[x.Finding] {
			can[x.Finding], all = true, append(all, x.Finding)
		}
	}
	if number == 0 && len(all) == 1 {
		number = all[0]
	}
	if !can[number] {
		if len(all) == 0 {
			return cli.Rejectf("", "threegate quarantine show "+it.ID+" says why",
				"nothing in it is a judgement about text")
		}
		return cli.Usagef("those that can be are "+joined(all), "name one finding with --finding")
	}
	f := it.Reasons.Findings[number-1]
	document := spool.FileRequest
	if it.Kind == schemas.KindResult {
		document = "result.md"
	}
	name := cmp.Or(f.File, document)
	dir, err := bundle.OpenPlace(it.Dir)
	var raw []byte
	if err == nil {
		raw, err = dir.ReadBelow(name, maxShownDocument)
		err = errors.Join(err, dir.Close())
	}
	if err == nil && len(raw) > maxShownDocument {
		err = fmt.Errorf("it has more than %d bytes", maxShownDocument)
	}
	if err != nil {
		return cli.Troublef(err, "", "can't read %s", filepath.Join(it.Dir, name))
	}
	c, err := corpus.New(f.Rule, raw, f.Line)
	if err != nil {
		return &cli.Fault{Exit: cli.ExitReject, Code: schemas.CodeValidation, Rule: f.Rule, Cause: err,
			Message: fmt.Sprintf("finding %d makes no test case: %v", number, err),
			Hint:    "write one by hand: testdata/corpus/README.md says how"}
	}
	if a.JSON {
		return a.PrintJSON(c)
	}
	if _, err := io.WriteString(a.UI.Out, c.Text); err != nil {
		return cli.Troublef(err, "", "can't write the case")
	}
	a.UI.Say("a case for testdata/corpus/%s, in a file of any name that ends in .txt", c.Folder)
	return nil
}
