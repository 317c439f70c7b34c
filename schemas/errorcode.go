package schemas

// Code is an error code of the Tool Runtime SDK, carried by every error that
// crosses a program boundary.
type Code string

// The SDK's codes that this node can raise.
const (
	CodeFileIO     Code = "E_FILE_IO"
	CodeValidation Code = "E_VALIDATION_FAIL"
	CodePolicy     Code = "E_POLICY"
	CodeTimeout    Code = "E_TIMEOUT"
	CodeShell      Code = "E_SHELL"
	CodeHTTP       Code = "E_HTTP"
	CodeInternal   Code = "E_INTERNAL"
)
