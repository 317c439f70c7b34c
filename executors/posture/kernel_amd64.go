package posture

// Numbers that exist on this architecture only, or that package unix lacks.
const (
	sysListmount     = 458
	sysIopl          = 172
	sysIoperm        = 173
	sysModifyLdt     = 154
	sysLookupDcookie = 212
)
