package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/threegate/tool-exec/toolruntime/contract"
)

const (
	fileTime = 10 * time.Second
	grepTime = 10 * time.Second

	defaultRead = 1 << 20
	defaultList = 5000
	mostList    = 50_000
	defaultHits = 1000
	mostHits    = 10_000
	mostPattern = 1000
	shaPattern  = "^([0-9a-f]{64})?$"
)

type moveArgs struct {
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace a file that dst names; never a folder"`
}

type moveResult struct {
	Moved bool `json:"moved"`
}

type copyArgs struct {
	Src          string `json:"src"`
	Dst          string `json:"dst"`
	Overwrite    bool   `json:"overwrite,omitempty" jsonschema:"replace a file that dst names; never a folder"`
	PreserveMode bool   `json:"preserve_mode,omitempty" jsonschema:"keep the permissions"`
}

type copyResult struct {
	Copied bool `json:"copied"`
}

type deleteArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"delete a folder with all below it"`
	Force     bool   `json:"force,omitempty" jsonschema:"what is not there is no error"`
}

type deleteResult struct {
	Deleted bool `json:"deleted"`
}

type readArgs struct {
	Path     string `json:"path"`
	MaxBytes int64  `json:"max_bytes,omitempty" jsonschema:"a longer file is an error, not cut off"`
}

type readResult struct {
	Content string `json:"content"`
	SHA256  string `json:"sha256"`
}

type writeArgs struct {
	Path         string         `json:"path"`
	Content      string         `json:"content"`
	Attribution  map[string]any `json:"attribution,omitempty" jsonschema:"on whose behalf; part of the request's hash"`
	CreateDirs   bool           `json:"create_dirs,omitempty" jsonschema:"make the folders that are missing"`
	ModeOctal    string         `json:"mode_octal,omitempty" jsonschema:"permissions as digits, such as 0644 or 755; those of the file, or 0644, if empty"`
	ExpectSHA256 string         `json:"expect_sha256,omitempty" jsonschema:"of the file as it is; another is an error"`
}

// Writes is the file that is locked.
func (a writeArgs) Writes() string { return a.Path }

type writeResult struct {
	Written bool `json:"written"`
	Bytes   int  `json:"bytes"`
}

func paths(all ...string) error {
	for _, p := range all {
		if _, err := Clean(p); err != nil {
			return err
		}
	}
	return nil
}

// Check says what is wrong with arguments before anything runs.
func (a listArgs) Check() error { _, err := CheckGlob(a.Glob); return err }

// Check is that of listArgs.
func (a moveArgs) Check() error { return paths(a.Src, a.Dst) }

// Check is that of listArgs.
func (a copyArgs) Check() error { return paths(a.Src, a.Dst) }

// Check is that of listArgs.
func (a deleteArgs) Check() error { return paths(a.Path) }

// Check is that of listArgs.
func (a readArgs) Check() error { return paths(a.Path) }

// Check is that of listArgs.
func (a grepArgs) Check() error {
	_, err := a.compile()
	if err == nil {
		_, err = CheckGlob(a.Glob)
	}
	return err
}

// Tools are the file tools of a workspace.
func Tools(w *Workspace) []contract.Tool {
	t := fileTools{w}
	return []contract.Tool{
		contract.NewTool("fs_list", "lists files by a glob pattern", fileTime,
			listArgs{MaxResults: defaultList}, t.list,
			contract.Between("max_results", 1, mostList), contract.Length("glob", 1, maxGlob)).Reads(),
		contract.NewTool("fs_move", "moves a file or folder", fileTime, moveArgs{}, t.move),
		contract.NewTool("fs_copy", "copies a file or folder", fileTime, copyArgs{PreserveMode: true}, t.copy),
		contract.NewTool("fs_delete", "deletes a file or folder", fileTime, deleteArgs{}, t.delete),
		contract.NewTool("file_read", "reads a text file", fileTime, readArgs{MaxBytes: defaultRead}, t.read,
			contract.Between("max_bytes", 1, MaxFile)).Reads(),
		contract.NewTool("file_write", "writes a text file, whole", fileTime, writeArgs{}, t.write,
			contract.Pattern("mode_octal", "^(0?[0-7]{3})?$"), contract.Pattern("expect_sha256", shaPattern),
			contract.Length("content", 0, MaxFile)),
		contract.NewTool("grep", "searches files for a regular expression (RE2)", grepTime,
			grepArgs{Glob: "**", MaxResults: defaultHits}, t.grep,
			contract.Between("max_results", 1, mostHits), contract.Length("pattern", 1, mostPattern),
			contract.Length("glob", 1, maxGlob)).Reads(),
		contract.NewTool("file_patch", "applies a unified diff to one file, exactly", fileTime, patchArgs{}, t.patch,
			contract.Length("unified_diff", 1, MaxFile), contract.Pattern("expect_sha256", shaPattern)),
	}
}

type fileTools struct{ w *Workspace }

func (t fileTools) move(ctx context.Context, a moveArgs) (moveResult, error) {
	err := t.w.Move(ctx, a.Src, a.Dst, a.Overwrite)
	return moveResult{err == nil}, err
}

func (t fileTools) copy(ctx context.Context, a copyArgs) (copyResult, error) {
	err := t.w.Copy(ctx, a.Src, a.Dst, a.Overwrite, a.PreserveMode)
	return copyResult{err == nil}, err
}

func (t fileTools) delete(ctx context.Context, a deleteArgs) (deleteResult, error) {
	err := t.w.Delete(ctx, a.Path, a.Recursive, a.Force)
	return deleteResult{err == nil}, err
}

func (t fileTools) read(_ context.Context, a readArgs) (readResult, error) {
	data, _, err := t.w.Read(a.Path, a.MaxBytes)
	if err != nil {
		return readResult{}, err
	}
	if !utf8.Valid(data) {
		return readResult{}, contract.Errorf(contract.FileIO, "%q is not UTF-8 text", a.Path).
			WithHint("no tool reads binary files; a command that shell_exec allows may")
	}
	return readResult{string(data), hash(data)}, nil
}

func hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (t fileTools) write(ctx context.Context, a writeArgs) (writeResult, error) {
	if err := t.w.expect(a.Path, a.ExpectSHA256); err != nil {
		return writeResult{}, err
	}
	var mode fs.FileMode
	if a.ModeOctal != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(a.ModeOctal, "0"), 8, 9)
		if err != nil || n == 0 {
			return writeResult{}, contract.Errorf(contract.Validation, "mode_octal %q is no file's mode", a.ModeOctal)
		}
		mode = fs.FileMode(n)
	}
	if err := t.w.Write(ctx, a.Path, []byte(a.Content), mode, a.CreateDirs); err != nil {
		return writeResult{}, err
	}
	return writeResult{true, len(a.Content)}, nil
}

// expect compares a file with the hash that the caller knows of it. An empty hash fits any.
func (w *Workspace) expect(path, sha string) error {
	if sha == "" {
		return nil
	}
	data, _, err := w.Read(path, MaxFile)
	if err != nil {
		return err
	}
	if hash(data) != sha {
		return contract.Errorf(contract.Validation, "%q is not what it was: it differs from expect_sha256", path).
			WithHint("read the file again")
	}
	return nil
}
