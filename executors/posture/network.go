package posture

import (
	"errors"
	"io/fs"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// noFamily is what a family that is refused says: the filter's errno without an
// egress proxy, and with one.
const noFamily = "EAFNOSUPPORT"

// networkTechniques go out.
var networkTechniques = []technique{
	family("udp4", unix.AF_INET, unix.SOCK_DGRAM, 0, "send datagrams"),
	family("udp6", unix.AF_INET6, unix.SOCK_DGRAM, 0, "send datagrams (IPv6)"),
	family("raw-icmp", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, "send raw packets"),
	family("ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, "ping"),
	family("raw6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, "send raw packets (IPv6)"),
	family("sctp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, "use SCTP"),
	family("mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "use multipath TCP"),
	family("packet", unix.AF_PACKET, unix.SOCK_RAW, 0, "see all packets"),
	family("netlink-route", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE, "change interfaces and routes"),
	family("netlink-netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER, "reach the packet filter"),
	family("netlink-audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, "reach the audit system"),
	family("netlink-uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, "send device events"),
	family("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, "reach the hypervisor"),
	family("alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, "use the kernel's ciphers"),
	family("xdp", unix.AF_XDP, unix.SOCK_RAW, 0, "take packets past the stack"),
	family("bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, "reach Bluetooth"),
	family("key", unix.AF_KEY, unix.SOCK_RAW, 2, "change IPsec keys"),
	family("tipc", unix.AF_TIPC, unix.SOCK_SEQPACKET, 0, "have the kernel load an old protocol (TIPC)"),
	family("can", unix.AF_CAN, unix.SOCK_RAW, 1, "have the kernel load an old protocol (CAN)"),
	family("rds", unix.AF_RDS, unix.SOCK_SEQPACKET, 0, "have the kernel load an old protocol (RDS)"),
	family("smc", unix.AF_SMC, unix.SOCK_STREAM, 0, "have the kernel load an old protocol (SMC)"),
	{"socketpair-inet", "network", "EPERM", "", "make a pair of internet sockets", func() error {
		_, err := unix.Socketpair(unix.AF_INET, unix.SOCK_STREAM, 0)
		return err
	}},
	connects("host-loopback", "127.0.0.1:22", "ECONNREFUSED", "reach a service on the host's loopback"),
	connects("host-loopback6", "[::1]:22", "ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH", "reach a service on the host's loopback (IPv6)"),
	connects("metadata", "169.254.169.254:80", "ENETUNREACH", "reach the cloud's metadata service"),
	connects("metadata-ecs", "169.254.170.2:80", "ENETUNREACH", "reach the metadata service (container credentials)"),
	connects("metadata-other", "100.100.100.200:80", "ENETUNREACH", "reach the metadata service of another cloud"),
	connects("metadata6", "[fd00:ec2::254]:80", "ENETUNREACH", "reach the metadata service (IPv6)"),
	connects("docker-api", "127.0.0.1:2375", "ECONNREFUSED", "reach Docker's API on loopback"),
	connects("kubelet", "127.0.0.1:10250", "ECONNREFUSED", "reach the kubelet"),
	connects("etcd", "127.0.0.1:2379", "ECONNREFUSED", "reach etcd"),
	connects("bridge", "172.17.0.1:22", "ENETUNREACH", "reach the host over Docker's bridge"),
	connects("mapped-loopback", "[::ffff:127.0.0.1]:22", "ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL", "reach the host's loopback by a mapped address"),
	connects("internet", "1.1.1.1:443", "ENETUNREACH", "reach the internet"),
	connects("internet6", "[2606:4700:4700::1111]:443", "ENETUNREACH", "reach the internet (IPv6)"),
	connects("private-network", "10.0.0.1:443", "ENETUNREACH", "reach a private network"),
	resolves("resolve", "example.com", "look a name up"),
	resolves("resolve-metadata", "metadata.google.internal", "look the metadata service up"),
	resolves("resolve-cluster", "kubernetes.default.svc.cluster.local", "look a cluster's API up"),
	unixTo("abstract-containerd", "@/containerd-shim", "reach an abstract socket of the host (containerd's shim)"),
	unixTo("abstract-dbus", "@/tmp/dbus-threegate", "reach an abstract socket of the host (D-Bus)"),
	{"interfaces", "network", "none", "", "find an interface beside loopback", func() error {
		data, err := readAll("/proc/net/dev")
		if errors.Is(err, fs.ErrNotExist) {
			return none
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(data) {
			name, _, isInterface := strings.Cut(strings.TrimSpace(line), ":")
			// Tunnel devices that the kernel puts into every namespace are down.
			if isInterface && name != "lo" && !strings.HasSuffix(name, "0") {
				return nil
			}
		}
		return none
	}},
	{"routes", "network", "none", "", "find a route", func() error {
		data, err := readAll("/proc/net/route")
		if errors.Is(err, fs.ErrNotExist) {
			return none
		}
		if err != nil {
			return err
		}
		if strings.Count(data, "\n") > 1 {
			return nil
		}
		return none
	}},
}

func family(name string, domain, kind, protocol int, what string) technique {
	return technique{name: "socket-" + name, group: "network", want: noFamily, networked: "EPERM|EAFNOSUPPORT", what: what, try: func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}}
}

// dialTime is short: where there is no route the kernel says so at once.
const dialTime = 2 * time.Second

func connects(name, address, networked, what string) technique {
	return technique{name: "connect-" + name, group: "network", want: noFamily, networked: networked, what: what, try: func() error {
		return dial("tcp", address)
	}}
}

func resolves(name, host, what string) technique {
	return technique{name: name, group: "network", want: "unresolved", what: what, try: func() error {
		_, err := net.LookupHost(host)
		if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
			return found("unresolved")
		}
		return err
	}}
}

func unixTo(name, address, what string) technique {
	return technique{name: "unix-" + name, group: "network", want: "ECONNREFUSED", what: what, try: func() error { return dial("unix", address) }}
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, dialTime)
	if err == nil {
		return c.Close()
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return found("timeout")
	}
	return err
}
