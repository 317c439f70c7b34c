package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/threegate/tool-exec/executors"
)

// Where the proxy listens inside a sandbox. It is no privileged port: a payload
// can take it while no gate is there, and so be its own proxy, to nowhere.
const (
	listenHost = "127.0.0.1"
	listenPort = 3128
)

// ErrNamespace: the given namespace is none in which the proxy may listen.
var ErrNamespace = errors.New("no network namespace of a sandbox")

// ListenIn opens the proxy inside the network namespace at nsPath
// (/proc/PID/ns/net), bringing loopback up if the runtime has not. It refuses
// the gate's own namespace, and one that has any other interface up. The
// listener keeps the namespace alive until Close. After the gate has been
// restarted, a new Proxy with the same log listens in its place; an error that
// is unix.EADDRINUSE says that another process holds the port.
func (p *Proxy) ListenIn(nsPath string) error {
	var l net.Listener
	err := inNamespace(nsPath, func() error {
		if err := onlyLoopback(); err != nil {
			return err
		}
		if err := loopbackUp(); err != nil {
			return err
		}
		var lc net.ListenConfig
		lc.SetMultipathTCP(false)
		var err error
		l, err = lc.Listen(context.Background(), "tcp4", net.JoinHostPort(listenHost, strconv.Itoa(listenPort)))
		return err
	})
	if err != nil {
		return fmt.Errorf("egress listener in %s: %w", nsPath, err)
	}
	return p.serve(l)
}

// inNamespace runs f on a thread that enters the network namespace, and ends with it.
func inNamespace(nsPath string, f func() error) error {
	return executors.OnOwnThread(func() error {
		if err := enter(nsPath); err != nil {
			return err
		}
		return f()
	})
}

// hostNamespace is mostly the gate's own.
const hostNamespace = "/proc/1/ns/net"

// enter moves the thread into the namespace, if it is another than the gate's.
func enter(nsPath string) error {
	ns, err := os.Open(nsPath)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNamespace, err)
	}
	defer ns.Close()
	kind, err := unix.IoctlRetInt(int(ns.Fd()), unix.NS_GET_NSTYPE)
	if err != nil || kind != unix.CLONE_NEWNET {
		return fmt.Errorf("%w: %s is no network namespace", ErrNamespace, nsPath)
	}
	theirs, err := ns.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNamespace, err)
	}
	ours, err := os.Stat("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNamespace, err)
	}
	hosts, err := os.Stat(hostNamespace)
	if err != nil && !errors.Is(err, os.ErrPermission) { // a confined gate knows only its own
		return fmt.Errorf("%w: %w", ErrNamespace, err)
	}
	if os.SameFile(theirs, ours) || err == nil && os.SameFile(theirs, hosts) {
		return fmt.Errorf("%w: %s is the namespace of the gate itself", ErrNamespace, nsPath)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace: %w", err)
	}
	return nil
}

// onlyLoopback refuses a namespace with another way out.
func onlyLoopback() error {
	found, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range found {
		// Kernels put tunnel devices into every namespace; down, they lead nowhere.
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return fmt.Errorf("%w: it has another interface than loopback, %s", ErrNamespace, i.Name)
		}
	}
	return nil
}

// loopbackUp is what some runtimes (gVisor's) leave to others.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	flags := ifr.Uint16()
	if flags&unix.IFF_UP != 0 {
		return nil
	}
	ifr.SetUint16(flags | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}

// Environment is what a payload needs to use the proxy. Programs differ in the
// case that they look for; an empty exception list keeps loopback from being
// taken for one.
func Environment() []string {
	proxy := "http://" + net.JoinHostPort(listenHost, strconv.Itoa(listenPort))
	return []string{
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "NO_PROXY=",
		"http_proxy=" + proxy, "https_proxy=" + proxy, "no_proxy=",
	}
}
