# In place of git's t/test-lib.sh: runs the cases of one of git's scripts for what they make, not for their verdicts.
# GIT_T is git's folder t, and CASES_TRASH an empty folder.
. "$GIT_T/test-lib-functions.sh"

TEST_DIRECTORY=$GIT_T
TRASH_DIRECTORY=$CASES_TRASH
HOME=$TRASH_DIRECTORY
TEST_NAME=$(basename "$0" .sh)
GIT_TEST_CMP='diff -u'
GIT_CONFIG_NOSYSTEM=1
GIT_CEILING_DIRECTORIES=$(dirname "$CASES_TRASH")
GIT_AUTHOR_NAME='A U Thor' GIT_AUTHOR_EMAIL=author@example.com
GIT_COMMITTER_NAME='C O Mitter' GIT_COMMITTER_EMAIL=committer@example.com
LC_ALL=C TZ=UTC EDITOR=: GIT_EDITOR=:
GIT_DEFAULT_HASH=sha1 GIT_TEST_BUILTIN_HASH=sha1
export TEST_DIRECTORY TRASH_DIRECTORY HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES GIT_AUTHOR_NAME \
	GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL LC_ALL TZ EDITOR GIT_EDITOR GIT_DEFAULT_HASH
PERL_PATH=perl SHELL_PATH=/bin/sh DIFF=diff
SQ=\' LF='
'
test_repo= test_cleanup= _z40=0000000000000000000000000000000000000000
ZERO_OID=$_z40 EMPTY_BLOB=e69de29bb2d1d6434b8b29ae775ad8c2e48c5391
EMPTY_TREE=4b825dc642cb6eb9a060e54bf8d69288fbee4904
_x05='[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]' _x35="$_x05$_x05$_x05$_x05$_x05$_x05$_x05"
_x40=$_x35$_x05 OID_REGEX=$_x40

# What git's functions write to, for people and for its own record.
exec 3>/dev/null 4>/dev/null 5>/dev/null 6</dev/null 7>/dev/null
say() { :; }
test_have_prereq() {
	case ,$1, in
	*,SANITY,* | *CASE_INSENSITIVE_FS* | *MINGW* | *CYGWIN* | *SHA256*) return 1 ;;
	esac
}
test_oid_init() { :; }
test_when_finished() { test_cleanup="$*; $test_cleanup"; }
test_done() { exit 0; }
test_expect_failure() { test_expect_success "$@"; }
test_expect_success() {
	test $# = 3 && { test_have_prereq "$1" || return 0; shift; }
	body=$2
	test "$body" = - && body=$(cat)
	test_cleanup=:
	eval "$body" </dev/null >/dev/null 2>&1
	eval "$test_cleanup" </dev/null >/dev/null 2>&1
	return 0
}

cd "$TRASH_DIRECTORY" && git init -q -b main . || exit 1
