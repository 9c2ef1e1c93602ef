# The shell as a language.
fib() { [ "$1" -lt 2 ] && echo "$1" && return; echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); }
fib 12
for i in 1 2 3; do for j in a b; do printf '%s%s ' $i $j; done; done; echo
i=0; until [ $i -ge 5 ]; do i=$((i + 1)); [ $i -eq 2 ] && continue; [ $i -eq 4 ] && break; echo $i; done
case "hello.c" in *.h) echo header ;; *.c) echo source ;; *) echo other ;; esac
x=abcdef; echo "${x#ab} ${x%ef} ${#x} ${x:-no} ${y:-default} ${y:=set} $y ${x:2:3} ${x/cd/XY}"
path=/usr/local/lib/file.tar.gz; echo "${path##*/} ${path%%.*} ${path%.*} ${path#*/}"
set -- one "two three" four; echo $# "$2"; shift; echo $# "$*" "$@"
IFS=:; set -- $(echo a:b:c); echo "$#"; unset IFS
echo $((1 + 2 * 3)) $((2 ** 10)) $((17 % 5)) $((0x1f)) $((1 << 20)) $((5 > 3 && 2 < 1)) $((~0))
a=5; a=$((a += 3, a * 2)); echo $a
f() { local v=inner; echo $v; }; v=outer; f; echo $v
echo "$(echo "$(echo "$(echo deep)")")"
echo `echo back\`echo tick\``
[ -n "x" -a 3 -lt 4 ] && [ ! -e /nothing ] && [ -d / ] && [ "a" != "b" ] && echo tests
[[ abc == a*c ]] && echo pattern
eval 'z=evaluated'; echo $z
readonly r=1; (r=2) 2>/dev/null || echo readonly
export EXPORTED=yes; sh -c 'echo $EXPORTED'
EXPORTED=once sh -c 'echo $EXPORTED'; echo $EXPORTED
getopts_test() { while getopts ab:c o; do echo "$o=$OPTARG"; done; shift $((OPTIND - 1)); echo "rest $*"; }
getopts_test -a -b value -c left over
printf '%5d|%-5s|%05x|%c|%s\n' 42 ab 255 xyz "end"
printf '%s\n' "$(printf 'a\tb\\n')"
alias hi='echo aliased' 2>/dev/null; type cd | head -n 1
set -e; (false; echo not reached) || echo "stopped $?"; set +e
set -u; (echo $undefined) 2>/dev/null || echo "unset"; set +u
trap 'echo "line trap"' EXIT
: ${EMPTY:+never}; echo "${HOME:+home is set}"
while read -r a b; do echo "$b $a"; done <<END
1 one
2 two
END
command -v sh; hash -r
exit 5
