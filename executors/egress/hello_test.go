package egress

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const maxRecordBytes = 1 << 14

func prefix16(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

func extension(kind uint16, data []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, kind), prefix16(data)...)
}

func nameExtension(names ...string) []byte {
	var list []byte
	for _, n := range names {
		list = append(append(list, 0), prefix16([]byte(n))...)
	}
	return extension(0, prefix16(list))
}

// message is a client hello without its record.
func message(extensions []byte) []byte {
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(body, 0)                // session
	body = append(body, 0, 2, 0x13, 0x01) // suites
	body = append(body, 1, 0)             // compression
	if extensions != nil {
		body = append(body, prefix16(extensions)...)
	}
	return append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
}

// records cuts a message into records of n bytes.
func records(msg []byte, n int) []byte {
	var out []byte
	for len(msg) > 0 {
		part := msg[:min(n, len(msg))]
		msg = msg[len(part):]
		out = append(append(out, 22, 3, 1), prefix16(part)...)
	}
	return out
}

func buildHello(name string, extensions ...[]byte) []byte {
	all := nameExtension(name)
	for _, e := range extensions {
		all = append(all, e...)
	}
	return records(message(all), maxRecordBytes)
}

func TestReadHello(t *testing.T) {
	ext := func(e ...[]byte) []byte { return records(message(bytes.Join(e, nil)), maxRecordBytes) }
	good := nameExtension("one.example")
	tests := []struct {
		name string
		in   []byte
		want Cause
	}{
		{"good", ext(good), CauseReached},
		{"other extensions", ext(extension(43, []byte{2, 3, 4}), good, extension(0x4a4a, nil)), CauseReached},
		{"in two records", records(message(good), 40), CauseReached},
		{"in records of 3 bytes", records(message(good), 3), CauseReached},
		{"in records of 1 byte", records(message(good), 1), CauseReached},
		{"no extensions at all", records(message(nil), 100), CauseServerName},
		{"no name", ext(extension(43, []byte{2, 3, 4})), CauseServerName},
		{"two names", ext(nameExtension("one.example", "two.example")), CauseNotTLS},
		{"empty name", ext(nameExtension("")), CauseNotTLS},
		{"long name", ext(nameExtension(strings.Repeat("a", 254))), CauseServerName},
		{"no names in the list", ext(nameExtension()), CauseNotTLS},
		{"name of another kind", ext(extension(0, prefix16(append([]byte{1}, prefix16([]byte("one.example"))...)))),
			CauseServerName},
		{"bytes after the list", ext(extension(0, append(prefix16(append([]byte{0}, prefix16([]byte("a.b"))...)),
			0))), CauseNotTLS},
		{"name extension twice", ext(good, good), CauseNotTLS},
		{"name extension twice, other name", ext(good, nameExtension("two.example")), CauseNotTLS},
		{"encrypted hello", ext(good, extension(extECH, []byte{1})), CauseServerName},
		{"encrypted hello, a draft", ext(good, extension(0xfe0a, nil)), CauseServerName},
		{"encrypted name", ext(extension(extESNI, nil), good), CauseServerName},
		{"another message follows", records(append(message(good), 1, 0, 0, 0), maxRecordBytes), CauseReached},
		{"server hello", records(append([]byte{2}, message(good)[1:]...), maxRecordBytes), CauseNotTLS},
		{"length too large", records([]byte{1, 0xff, 0xff, 0xff, 0}, 100), CauseNotTLS},
		{"length too small", records(append([]byte{1, 0, 0, 5}, message(good)[4:]...), maxRecordBytes), CauseNotTLS},
		{"empty record", []byte{22, 3, 1, 0, 0}, CauseNotTLS},
		{"record too long", []byte{22, 3, 1, 0x50, 1}, CauseNotTLS},
		{"DTLS", []byte{22, 0xfe, 0xff, 0, 4}, CauseNotTLS},
		{"application data", []byte{23, 3, 3, 0, 4}, CauseNotTLS},
		{"http", []byte("GET / HTTP/1.1\r\n"), CauseNotTLS},
		{"SSLv2", []byte{0x80, 0x2e, 1, 0, 2}, CauseNotTLS},
		{"SSLv3", records(append([]byte{1, 0, 0, 4}, 3, 0, 0, 0), 100), CauseNotTLS},
		{"cut in the header", ext(good)[:3], ""},
		{"cut in the middle", ext(good)[:30], ""},
		{"nothing", nil, ""},
		{"cut between records", records(message(good), 40)[:45], ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{bytes.NewReader(tt.in), iotest.OneByteReader(bytes.NewReader(tt.in))} {
				raw, cause, err := readHello(r, "one.example")
				if cause != tt.want || (err == nil) != (tt.want != "") {
					t.Fatalf("%q, %v", cause, err)
				}
				if cause == CauseReached && !bytes.Equal(raw, tt.in) {
					t.Error("not all is passed on as it came")
				}
			}
		})
	}
}

func TestHelloNames(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		want       bool
	}{
		{"one.example", "one.example", true}, {"ONE.EXAMPLE", "one.example", true},
		{"one.example.", "one.example", false}, {"one.example\x00", "one.example", false},
		{"ONE.EXAMPLE\u212a", "one.examplek", false}, {"11.0.0.1", "11.0.0.1", false},
	} {
		if _, cause, _ := readHello(bytes.NewReader(buildHello(tt.name)), tt.host); (cause == CauseReached) != tt.want {
			t.Errorf("%q for %q: %v", tt.name, tt.host, cause)
		}
	}
	none := records(message(extension(43, []byte{2, 3, 4})), maxRecordBytes)
	for host, want := range map[string]Cause{"11.0.0.1": CauseReached, "2a00::1": CauseReached,
		"one.example": CauseServerName} {
		if _, cause, _ := readHello(bytes.NewReader(none), host); cause != want {
			t.Errorf("no name for %s: %v", host, cause)
		}
	}
}

func FuzzReadHello(f *testing.F) {
	f.Add(buildHello("one.example"))
	f.Add(records(message(nameExtension("one.example")), 7))
	f.Add(buildHello("one.example", extension(extECH, nil)))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		raw, cause, err := readHello(bytes.NewReader(in), "one.example")
		if cause != CauseReached {
			if len(raw) > 0 || cause == "" && err == nil {
				t.Fatalf("%q, %v, %d bytes to send", cause, err, len(raw))
			}
			return
		}
		if !bytes.HasPrefix(in, raw) {
			t.Fatal("other bytes than the input's would be sent")
		}
	})
}
