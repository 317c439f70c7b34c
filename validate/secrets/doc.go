// Package secrets finds credentials in text and in what the text encodes. It is
// a narrow door to gitleaks' rules: no other package knows that they are used.
//
// Its input is hostile and its output is shown to people and written to logs,
// so no value that it returns repeats a secret.
package secrets
