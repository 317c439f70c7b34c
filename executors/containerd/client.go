// Package containerd connects to a containerd, the host's or a private one that
// the node starts as its child, and keeps images in it: imported from an OCI
// layout, unpacked, and mounted as read-only roots.
//
// Images are the node's own and pinned by digest; every byte of one is checked
// against it. Nothing here comes from a request.
package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	containerdclient "github.com/containerd/containerd/v2/client"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Config says which containerd to use and how.
type Config struct {
	// Address is the socket of the host's containerd. Empty means Private.
	Address string
	Private Private
	// Namespace separates the node's things from others'; empty is DefaultNamespace.
	Namespace string
	// Snapshotter unpacks images; empty is DefaultSnapshotter.
	Snapshotter string
}

// Defaults of Config.
const (
	DefaultNamespace   = "threegate"
	DefaultSnapshotter = "overlayfs"
)

const (
	// connectTimeout bounds how long a containerd may take to answer at first.
	connectTimeout = 15 * time.Second
	// The pauses between attempts to connect, at first and at most.
	dialPause    = 20 * time.Millisecond
	maxDialPause = time.Second
)

// Client is a connection to one containerd. It reconnects by itself when that
// is restarted, and is safe for concurrent use.
type Client struct {
	*containerdclient.Client
	cfg     Config
	address string
	version string
	private *daemon
}

// Open connects. A private containerd is started if it does not run already,
// and started again if it ends while the Client is open.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	if cfg.Namespace == "" {
		cfg.Namespace = DefaultNamespace
	}
	if cfg.Snapshotter == "" {
		cfg.Snapshotter = DefaultSnapshotter
	}
	c := &Client{cfg: cfg, address: cfg.Address}
	if cfg.Address == "" {
		d, err := startDaemon(ctx, cfg.Private)
		if err != nil {
			return nil, err
		}
		c.private, c.address = d, d.address
	}
	cl, version, err := dial(ctx, c.address, cfg.Namespace, false)
	if err != nil {
		if c.private != nil {
			c.private.release()
		}
		return nil, err
	}
	c.Client, c.version = cl, version
	return c, nil
}

// dial connects and waits for the first answer; patient means that the socket
// may not be there yet.
func dial(ctx context.Context, address, namespace string, patient bool) (*containerdclient.Client, string, error) {
	cl, err := containerdclient.New(address, containerdclient.WithDefaultNamespace(namespace),
		containerdclient.WithExtraDialOpts([]grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: dialPause, Multiplier: 2, MaxDelay: maxDialPause},
			MinConnectTimeout: maxDialPause,
		})}))
	if err != nil {
		return nil, "", fmt.Errorf("connect to containerd at %s: %w", address, err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		v, err := cl.Version(ctx)
		if err == nil {
			return cl, v.Version, nil
		}
		// Not up yet, perhaps. A socket that nobody owns will not come.
		if status.Code(err) != codes.Unavailable || !patient || ctx.Err() != nil {
			cl.Close()
			return nil, "", fmt.Errorf("connect to containerd at %s: %w", address, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(dialPause):
		}
	}
}

// Close ends the connection. A private containerd goes on running, and with it
// every container: the next Open finds it again.
func (c *Client) Close() error {
	err := c.Client.Close()
	if c.private != nil {
		c.private.release()
	}
	return err
}

// Stop closes the connection and stops the private containerd, if it is one.
// Containers that still run go on under their shims until the next Open.
func (c *Client) Stop(ctx context.Context) error {
	err := c.Client.Close()
	if c.private != nil {
		if serr := c.private.stop(ctx); err == nil {
			err = serr
		}
	}
	return err
}

// DaemonVersion is the version of containerd, "1.6.20" for instance.
func (c *Client) DaemonVersion() string { return c.version }

// RuncRoot is where the runtime keeps its state: below the private containerd's
// own, so that two of them never meet, or "" for the host's default.
func (c *Client) RuncRoot() string {
	if c.private == nil {
		return ""
	}
	return c.private.cfg.State + "/runtime"
}

// RemoveRemains removes what is left of the task id when a private containerd or its shim was killed over it: the
// bundle and the state of the runtime. As long as they are there, no task of this id can be made. The caller knows
// that there is neither such a task nor its container, and ends its processes, if there are any, by their control
// group. An id that is no name of a folder is refused.
func (c *Client) RemoveRemains(id string) error {
	if c.private == nil {
		return nil
	}
	if id != filepath.Base(id) || id == "." || id == ".." {
		return fmt.Errorf("remove what is left of a task: %q is no id", id)
	}
	namespace := c.Client.DefaultNamespace()
	if err := removeBundle(filepath.Join(c.private.cfg.State, "io.containerd.runtime.v2.task", namespace,
		id)); err != nil {
		return fmt.Errorf("remove what is left of task %s: %w", id, err)
	}
	return os.RemoveAll(filepath.Join(c.RuncRoot(), namespace, id))
}

func removeBundle(bundle string) error {
	if _, err := os.Lstat(bundle); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for {
		switch err := unix.Unmount(filepath.Join(bundle, "rootfs"), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err {
		case nil: // there may be one below it
		case unix.EINVAL, unix.ENOENT:
			return os.RemoveAll(bundle)
		default:
			return fmt.Errorf("unmount its root: %w", err)
		}
	}
}
