package secrets

// Finder finds secrets in text for the Tool Runtime.
type Finder struct{}

// FindSecrets calls found for each secret, with its offsets and with words about it that do not repeat it.
func (Finder) FindSecrets(text []byte, found func(start, end int, what string)) {
	for _, m := range Scan(text) {
		found(m.Offset, m.End, m.Rule+": "+m.Masked)
	}
}
