package sandbox

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Where the kernel puts what a filter sees; see struct seccomp_data.
const (
	nrAt      = 0
	archAt    = 4
	argsAt    = 16
	argBytes  = 8
	wordBytes = 4
)

// x32Bit marks a system call of an ABI that shares amd64's architecture number.
const x32Bit = 0x40000000

// Filter compiles a profile as Spec makes it to the program that the kernel runs
// at each system call, once for all sandboxes that are made without a runtime.
// Calls of another ABI end the process. Those that are newer than all that the profile
// names do not exist, as runtimes have it too: programs fall back from that.
func Filter(s *specs.LinuxSeccomp) ([]bpf.RawInstruction, error) {
	abi, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	byNr := map[uint32][]specs.LinuxSyscall{}
	for _, rule := range s.Syscalls {
		for _, name := range rule.Names {
			if nr, ok := abi.SyscallNames[name]; ok { // others are not of this ABI
				byNr[uint32(nr)] = append(byNr[uint32(nr)], rule)
			}
		}
	}
	otherwise, err := action(s.DefaultAction, s.DefaultErrnoRet)
	if err != nil {
		return nil, err
	}
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: wordBytes},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(abi.ID), SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: nrAt, Size: wordBytes},
	}
	if abi.ID == arch.X86_64.ID {
		prog = append(prog,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS})
	}
	nrs := make([]uint32, 0, len(byNr))
	for nr := range byNr {
		nrs = append(nrs, nr)
	}
	slices.Sort(nrs)
	if len(nrs) > 0 && s.DefaultAction == specs.ActErrno {
		prog = append(prog,
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: nrs[len(nrs)-1], SkipFalse: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	for _, nr := range nrs {
		block, err := decide(byNr[nr], otherwise)
		if err != nil {
			return nil, err
		}
		if len(block) > math.MaxUint8 {
			return nil, errors.New("seccomp filter: too many conditions on one system call")
		}
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(block))})
		prog = append(prog, block...)
	}
	return bpf.Assemble(append(prog, otherwise))
}

// decide is what becomes of one system call: the first rule whose conditions all
// hold, or what becomes of every other. It always returns.
func decide(rules []specs.LinuxSyscall, otherwise bpf.Instruction) ([]bpf.Instruction, error) {
	var block []bpf.Instruction
	for _, rule := range rules {
		then, err := action(rule.Action, rule.ErrnoRet)
		if err != nil {
			return nil, err
		}
		conditions := []bpf.Instruction{then}
		for _, arg := range slices.Backward(rule.Args) {
			if conditions, err = condition(arg, conditions); err != nil {
				return nil, err
			}
		}
		block = append(block, conditions...)
		if len(rule.Args) == 0 {
			return block, nil
		}
	}
	return append(block, otherwise), nil
}

// condition puts a test of an argument before what follows if it holds.
func condition(arg specs.LinuxSeccompArg, follows []bpf.Instruction) ([]bpf.Instruction, error) {
	mask, want := uint64(math.MaxUint64), arg.Value
	if arg.Op == specs.OpMaskedEqual {
		mask, want = arg.Value, arg.ValueTwo
	}
	at := argsAt + uint32(arg.Index)*argBytes // both ABIs are little-endian
	low := []bpf.Instruction{bpf.LoadAbsolute{Off: at, Size: wordBytes}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(mask)}}
	high := []bpf.Instruction{bpf.LoadAbsolute{Off: at + wordBytes, Size: wordBytes}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(mask >> 32)}}
	n := uint8(len(follows))
	switch {
	case arg.Index >= 6 || len(follows) > math.MaxUint8/2:
		return nil, errors.New("seccomp filter: an argument that no system call has, or too many conditions")
	case arg.Op == specs.OpEqualTo || arg.Op == specs.OpMaskedEqual:
		// past the other half and what follows, unless this half is as it must be
		low = append(low, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(want), SkipFalse: n})
		high = append(high, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(want >> 32), SkipFalse: n + uint8(len(low))})
	case arg.Op == specs.OpNotEqual:
		// one half that differs is enough
		low = append(low, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(want), SkipFalse: n})
		high = append(high, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(want >> 32), SkipTrue: uint8(len(low))})
	default:
		return nil, fmt.Errorf("seccomp filter: operator %s", arg.Op)
	}
	return slices.Concat(high, low, follows), nil
}

// action is what a filter answers.
func action(a specs.LinuxSeccompAction, errno *uint) (bpf.Instruction, error) {
	switch a {
	case specs.ActAllow:
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, nil
	case specs.ActErrno:
		code := uint(unix.EPERM)
		if errno != nil {
			code = *errno
		}
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(code)}, nil
	default:
		return nil, fmt.Errorf("seccomp filter: action %s", a)
	}
}
