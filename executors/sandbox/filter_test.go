package sandbox

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// call is struct seccomp_data as the interpreter of package bpf reads it: in
// network order, and so the halves of an argument are swapped.
func call(abi, nr uint32, args [6]uint64) []byte {
	var b [argsAt + 6*argBytes]byte
	binary.BigEndian.PutUint32(b[nrAt:], nr)
	binary.BigEndian.PutUint32(b[archAt:], abi)
	for i, a := range args {
		binary.BigEndian.PutUint32(b[argsAt+i*argBytes:], uint32(a))
		binary.BigEndian.PutUint32(b[argsAt+i*argBytes+wordBytes:], uint32(a>>32))
	}
	return b[:]
}

// answer is what a profile says of a system call, read off the profile itself.
func answer(s *specs.LinuxSeccomp, name string, args [6]uint64) uint32 {
	for _, rule := range s.Syscalls {
		for _, n := range rule.Names {
			if n != name {
				continue
			}
			holds := true
			for _, a := range rule.Args {
				v := args[a.Index]
				switch a.Op {
				case specs.OpEqualTo:
					holds = holds && v == a.Value
				case specs.OpNotEqual:
					holds = holds && v != a.Value
				case specs.OpMaskedEqual:
					holds = holds && v&a.Value == a.ValueTwo
				}
			}
			switch {
			case !holds:
			case rule.Action == specs.ActAllow:
				return unix.SECCOMP_RET_ALLOW
			case rule.ErrnoRet != nil:
				return unix.SECCOMP_RET_ERRNO | uint32(*rule.ErrnoRet)
			default:
				return unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
			}
		}
	}
	return unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
}

// The compiled filter answers every system call as the profile does, for the
// arguments that decide and for those beside them.
func TestFilter(t *testing.T) {
	abi, err := arch.GetInfo("")
	if err != nil {
		t.Fatal(err)
	}
	values := []uint64{0, 1, 2, 3, 8, 10, 16, 41, 56, 133, 0xffffffff, 1 << 32, 1<<32 + 1, 1 << 63, ^uint64(0), unix.S_IFIFO, unix.S_IFREG, unix.S_IFCHR, unix.S_IFBLK,
		unix.S_IFREG | 0o644, unix.CLONE_NEWUSER, unix.CLONE_NEWNS | 17, unix.CLONE_VM, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.SOCK_RAW, unix.IPPROTO_TCP}
	for _, egress := range []bool{false, true} {
		profile := seccompProfile(egress, false)
		raw, err := Filter(profile)
		if err != nil {
			t.Fatal(err)
		}
		program, all := bpf.Disassemble(raw)
		if !all || len(raw) > 4096 {
			t.Fatalf("%d instructions, known: %v", len(raw), all)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(id, nr uint32, args [6]uint64) uint32 {
			got, err := vm.Run(call(id, nr, args))
			if err != nil {
				t.Fatal(err)
			}
			return uint32(got)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		newest := 0
		for _, rule := range profile.Syscalls {
			for _, name := range rule.Names {
				newest = max(newest, abi.SyscallNames[name]) // 0 if it is of another ABI
			}
		}
		absent := uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
		tried := map[uint32]int{}
		for name, nr := range abi.SyscallNames {
			for range 300 {
				var args [6]uint64
				for i := range args {
					args[i] = values[rng.IntN(len(values))]
				}
				got, want := ask(uint32(abi.ID), uint32(nr), args), answer(profile, name, args)
				if nr > newest {
					want = absent
				}
				if got != want {
					t.Fatalf("%s%x: the filter answers %#x, the profile %#x", name, args, got, want)
				}
				tried[got]++
			}
		}
		if len(tried) < 3 {
			t.Errorf("only these answers were seen: %v", tried)
		}
		for _, nr := range []int{newest + 1, 9999} {
			if got := ask(uint32(abi.ID), uint32(nr), [6]uint64{}); got != absent {
				t.Errorf("system call %d, newer than the profile: %#x", nr, got)
			}
		}
		for _, other := range []*arch.Info{arch.I386, arch.ARM} {
			if got := ask(uint32(other.ID), 0, [6]uint64{}); got != unix.SECCOMP_RET_KILL_PROCESS {
				t.Errorf("a system call of %s: %#x", other.Name, got)
			}
		}
		if abi.ID == arch.X86_64.ID {
			if got := ask(uint32(abi.ID), x32Bit, [6]uint64{}); got != unix.SECCOMP_RET_KILL_PROCESS {
				t.Errorf("a system call of x32: %#x", got)
			}
		}
	}
}

// A profile that can't be compiled is no filter at all.
func TestFilterRefuses(t *testing.T) {
	for name, rule := range map[string]specs.LinuxSyscall{
		"operator": {Names: []string{"read"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{{Op: specs.OpGreaterThan}}},
		"argument": {Names: []string{"read"}, Action: specs.ActAllow, Args: []specs.LinuxSeccompArg{{Index: 6, Op: specs.OpEqualTo}}},
		"action":   {Names: []string{"read"}, Action: specs.ActNotify},
	} {
		if raw, err := Filter(&specs.LinuxSeccomp{DefaultAction: specs.ActErrno, Syscalls: []specs.LinuxSyscall{rule}}); err == nil {
			t.Errorf("%s: %d instructions", name, len(raw))
		}
	}
}
