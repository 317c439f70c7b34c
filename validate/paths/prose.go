package paths

import (
	"regexp"
	"slices"
	"strings"
)

// Devices that prose asks for without a path.
var spokenDevice = []*regexp.Regexp{
	// By the kernel's name for one: "raw access to the first disk (sda)".
	regexp.MustCompile(`(?i)\b(?:(?:raw|direct|exclusive|write|full) access|mount|attach|expose|pass|dd|image|kernel log|boot|format)s?\b[^.;]{0,40}\b((?:dev/)?(?:tty(?:USB|ACM|S)\d+|nvme\d+n\d+(?:p\d+)?|sd[a-z]\d{0,2}|mmcblk\d+\w*|nvidia\d+|kmsg|kvm))\b`),
	// What is handed into the sandbox.
	regexp.MustCompile(`(?i)\b(?:pass|attach|expose|map|mount|plug|bind|forward|hand|give|share)\w*\b[^.;]{0,40}?\b(webcam|camera|usb (?:stick|drive|disk|device|port|key)|gpus?|graphics card|serial port|sound card|microphone|block devices?|raw disk|device nodes?)\b[^.;]{0,40}?\b(?:through|into|in|to|of|from|so|and)\b`),
	regexp.MustCompile(`(?i)\b(?:raw|direct|exclusive|write) access to (?:the |a |its )?(?:\w+ )?(?:\w+'s )?(block devices?|disks?|drives?|memory|gpus?|graphics card|hardware|kernel memory|i2c bus|gpio(?: pins)?|serial port)\b`),
	// Rights over all of them.
	regexp.MustCompile(`(?i)(--privileged\b|--device[ =]|\bprivileged (?:mode|container|devices?)\b|\b(?:run|runs|start|started|running) (?:\w+ ){0,3}privileged\b|\bCAP_SYS_(?:ADMIN|RAWIO)\b|\bSYS_ADMIN\b)`),
}

// deviceMarks are parts of words one of which stands in whatever a pattern of spokenDevice matches.
var deviceMarks = [][]string{
	{"tty", "nvme", "sd", "mmcblk", "nvidia", "kmsg", "kvm"},
	{"ebcam", "amera", "usb", "USB", "gpu", "GPU", "raphics card", "erial port", "ound card", "icrophone", "lock device", "raw disk", "evice node"},
	{" access to "},
	{"rivileged", "--device", "SYS_"},
}

// spokenDevices calls add for each device that prose asks for in words.
func spokenDevices(text string, add func(kind Kind, from, to int)) {
	for i, re := range spokenDevice {
		if !slices.ContainsFunc(deviceMarks[i], func(mark string) bool { return strings.Contains(text, mark) }) {
			continue
		}
		for _, m := range re.FindAllStringSubmatchIndex(text, MaxRefs) {
			add(Device, m[2], m[3])
		}
	}
}
