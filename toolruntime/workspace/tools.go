package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// MoveArgs are the arguments of fs_move.
type MoveArgs struct {
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace a file that dst names; never a folder"`
}

// Moved is the result of fs_move.
type Moved struct {
	Moved bool `json:"moved"`
}

// CopyArgs are the arguments of fs_copy.
type CopyArgs struct {
	Src          string `json:"src"`
	Dst          string `json:"dst"`
	Overwrite    bool   `json:"overwrite,omitempty" jsonschema:"replace a file that dst names; never a folder"`
	PreserveMode bool   `json:"preserve_mode,omitempty" jsonschema:"keep the permissions"`
}

// Copied is the result of fs_copy.
type Copied struct {
	Copied bool `json:"copied"`
}

// DeleteArgs are the arguments of fs_delete.
type DeleteArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"delete a folder with all below it"`
	Force     bool   `json:"force,omitempty" jsonschema:"what is not there is no error"`
}

// Deleted is the result of fs_delete.
type Deleted struct {
	Deleted bool `json:"deleted"`
}

// ReadArgs are the arguments of file_read.
type ReadArgs struct {
	Path     string `json:"path"`
	MaxBytes int64  `json:"max_bytes,omitempty" jsonschema:"a longer file is an error, not cut off"`
}

// Content is the result of file_read.
type Content struct {
	Content string `json:"content"`
	SHA256  string `json:"sha256"`
}

// WriteArgs are the arguments of file_write.
type WriteArgs struct {
	Path         string         `json:"path"`
	Content      string         `json:"content"`
	Attribution  map[string]any `json:"attribution,omitempty" jsonschema:"on whose behalf; part of the request's hash"`
	CreateDirs   bool           `json:"create_dirs,omitempty" jsonschema:"make the folders that are missing"`
	ModeOctal    string         `json:"mode_octal,omitempty" jsonschema:"permissions; those of the file, or 0644, if empty"`
	ExpectSHA256 string         `json:"expect_sha256,omitempty" jsonschema:"of the file as it is; another is an error"`
}

// Writes is the file that is locked.
func (a WriteArgs) Writes() string { return a.Path }

// Written is the result of file_write.
type Written struct {
	Written bool `json:"written"`
	Bytes   int  `json:"bytes"`
}

// Tools are the file tools of a workspace.
func Tools(w *Workspace) []contract.Tool {
	t := fileTools{w}
	return []contract.Tool{
		contract.NewTool("fs_list", "lists files by a glob pattern", fileTime,
			ListArgs{MaxResults: defaultList}, t.list,
			contract.Between("max_results", 1, mostList), contract.Length("glob", 1, maxGlob)).Reads(),
		contract.NewTool("fs_move", "moves a file or folder", fileTime, MoveArgs{}, t.move),
		contract.NewTool("fs_copy", "copies a file or folder", fileTime, CopyArgs{PreserveMode: true}, t.copy),
		contract.NewTool("fs_delete", "deletes a file or folder", fileTime, DeleteArgs{}, t.delete),
		contract.NewTool("file_read", "reads a text file", fileTime, ReadArgs{MaxBytes: defaultRead}, t.read,
			contract.Between("max_bytes", 1, MaxFile)).Reads(),
		contract.NewTool("file_write", "writes a text file, whole", fileTime, WriteArgs{}, t.write,
			contract.Pattern("mode_octal", "^(0?[0-7]{3})?$"), contract.Pattern("expect_sha256", shaPattern),
			contract.Length("content", 0, MaxFile)),
		contract.NewTool("grep", "searches files for a regular expression (RE2)", grepTime,
			GrepArgs{Glob: "**", MaxResults: defaultHits}, t.grep,
			contract.Between("max_results", 1, mostHits), contract.Length("pattern", 1, mostPattern),
			contract.Length("glob", 1, maxGlob)).Reads(),
		contract.NewTool("file_patch", "applies a unified diff to one file, exactly", fileTime, PatchArgs{}, t.patch,
			contract.Length("unified_diff", 1, MaxFile), contract.Pattern("expect_sha256", shaPattern)),
	}
}

type fileTools struct{ w *Workspace }

func (t fileTools) move(_ context.Context, a MoveArgs) (Moved, error) {
	err := t.w.Move(a.Src, a.Dst, a.Overwrite)
	return Moved{err == nil}, err
}

func (t fileTools) copy(_ context.Context, a CopyArgs) (Copied, error) {
	err := t.w.Copy(a.Src, a.Dst, a.Overwrite, a.PreserveMode)
	return Copied{err == nil}, err
}

func (t fileTools) delete(_ context.Context, a DeleteArgs) (Deleted, error) {
	err := t.w.Delete(a.Path, a.Recursive, a.Force)
	return Deleted{err == nil}, err
}

func (t fileTools) read(_ context.Context, a ReadArgs) (Content, error) {
	data, _, err := t.w.Read(a.Path, a.MaxBytes)
	if err != nil {
		return Content{}, err
	}
	if !utf8.Valid(data) {
		return Content{}, contract.Errorf(contract.FileIO, "%q is not UTF-8 text", a.Path).
			WithHint("no tool reads binary files; a command that shell_exec allows may")
	}
	return Content{string(data), hash(data)}, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (t fileTools) write(_ context.Context, a WriteArgs) (Written, error) {
	if err := t.w.expect(a.Path, a.ExpectSHA256); err != nil {
		return Written{}, err
	}
	var mode fs.FileMode
	if a.ModeOctal != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(a.ModeOctal, "0"), 8, 9)
		if err != nil || n == 0 {
			return Written{}, contract.Errorf(contract.Validation, "mode_octal %q is no mode of a file", a.ModeOctal)
		}
		mode = fs.FileMode(n)
	}
	if err := t.w.Write(a.Path, []byte(a.Content), mode, a.CreateDirs); err != nil {
		return Written{}, err
	}
	return Written{true, len(a.Content)}, nil
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
