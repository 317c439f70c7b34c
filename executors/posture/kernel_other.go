//go:build !amd64

package posture

// There are no such calls here: the kernel says ENOSYS or the filter EPERM.
const (
	sysListmount     = 458
	sysIopl          = ^uintptr(0) >> 33
	sysLookupDcookie = ^uintptr(0) >> 33
	sysIoperm        = ^uintptr(0) >> 33
	sysModifyLdt     = ^uintptr(0) >> 33
)
