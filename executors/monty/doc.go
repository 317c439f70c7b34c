// Package monty is the driver of pydantic's Monty: it runs one program in the real interpreter. It starts
// `monty subprocess`, binds the inputs, streams what is printed, answers what
// the code asks of the outside, and turns the end into an exit code.
//
// It is the payload of the sandbox and runs as its unprivileged user. So it
// guards nothing by itself: the sandbox does. What it must do is keep the
// interpreter's own promises (the code reaches /in and /out and nothing else)
// and never hang or crash on what the interpreter sends.
//
// # What the code can ask for
//
//   - Files: pathlib, open and the file functions of os, below /in (read) and
//     /out (read and write). A relative path counts from /. Every other path is a
//     PermissionError that names it. Opening for update (r+, w+, a+) and
//     encodings other than UTF-8 are refused by the interpreter itself.
//   - The clock: datetime.now and date.today give the sandbox's clock in UTC.
//     (The bare monty command refuses both.)
//   - The environment: os.environ is empty, os.getenv returns its default.
//     (The bare monty command refuses both.)
//   - Tools: functions that the host gives it, called with arguments by name. The interpreter can't
//     call them itself, as from map() or sorted(key=): NotImplementedError.
//   - Functions and names that do not exist: NameError. That includes input,
//     eval, exec and __import__.
//
// # The last value
//
// When the last statement is an expression whose value is not None, the value
// is written as JSON to /out/_value.json; the code itself can't write that name.
//
//	bool, str                 the same
//	int                       a number, exact however large
//	float                     a number as Python prints it; nan and inf are refused
//	list, tuple, deque        an array; so are iterators
//	set, frozenset            an array, sorted
//	dict                      an object; a key that is a number, a bool or None is
//	                          its JSON as a string; a container as a key is refused
//	named tuple, dataclass    an object of its fields
//	bytes                     {"base64": "..."}
//	date, time, datetime      a string as isoformat() gives
//	timedelta                 a number: seconds
//	timezone, path            a string
//	None inside a container   null
//
// Refused by name, with exit code ExitValue: functions, classes, modules,
// instances of other classes, exceptions, open files, Ellipsis, NotImplemented,
// containers that hold themselves, and everything else.
package monty
