#!/bin/sh
# Fetches Lua's own tests (lua.org's testes, of Lua 5.4.4) into build/programs/src/lua-tests. Debian's source package
# lacks them; the source archive of the Python package lupa carries the whole of Lua's repository.
set -eu
. "$(dirname "$0")/common.sh"

package=lupa==2.0
file=lupa-2.0.tar.gz
sum=ad3fef486be7adddd349fe9a9c393789061312cf98ebc533b489be34f484cb79
python=$root/.venv/bin/python

mkdir -p "$programs/sources"
stamp lua-tests && exit 0

if ! echo "$sum  $programs/sources/$file" | sha256sum --check --status 2>/dev/null; then
	[ -x "$python" ] || fail "needs $python: run ./bootstrap test"
	"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
		--dest "$programs/sources" "$package" >&2 || fail "cannot download the Python package $package"
	echo "$sum  $programs/sources/$file" | sha256sum --check --status || fail "$file is not the file that this script names"
fi
out=$programs/src/lua-tests
rm -rf "$out"
mkdir -p "$out"
tar -xf "$programs/sources/$file" -C "$out" --strip-components=4 --wildcards '*/third-party/lua54/testes/*'
stamped lua-tests
