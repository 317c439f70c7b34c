package contract

// SecretFinder finds secrets in text. It is the host's: the library has no rules of its own.
type SecretFinder interface {
	// FindSecrets calls found for each in order, with the offsets of its first byte and of the one behind its last, and
	// with words about it that do not repeat it.
	FindSecrets(text []byte, found func(start, end int, what string))
}
