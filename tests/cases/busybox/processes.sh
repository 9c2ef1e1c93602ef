# Many processes, environment, identity, limits.
i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done; echo "$i programs"
i=0; while [ $i -lt 30 ]; do (exit 0) & i=$((i + 1)); done; wait; echo "$i children"
sh -c 'sh -c "sh -c \"sh -c \\\"echo four deep\\\"\""'
env -i A=1 B=2 env | sort
env FOO=bar sh -c 'echo $FOO'; printenv HOME
id -u; whoami; groups; uname -s; hostname >/dev/null && echo hostname
nicer=$(($(nice) + 5)); [ $nicer -gt 19 ] && nicer=19; [ "$(nice -n 5 nice)" = $nicer ] && echo nicer; renice -n 1 -p $$ >/dev/null 2>&1; echo "renice $?"
ulimit -n 64; ulimit -n; ulimit -c 0; ulimit -c
(ulimit -n 10; sh -c 'exec 9</dev/null && echo nine'; sh -c 'exec 12</dev/null' 2>/dev/null || echo "no twelfth")
pwd; cd /; pwd; cd - >/dev/null; pwd
umask 077; touch private; stat -c %a private; umask 022
which sh; type true | head -n 1; test -t 0 || echo "no terminal"
time -f '' true 2>/dev/null; usleep 1000; sleep 0.01; echo slept
date -u -d @1000000000 '+%Y-%m-%d %H:%M:%S'; date -u -d '1999-02-22 12:00' +%s
sh -c 'exit 300'; echo $?; sh -c 'kill -SEGV $$'; echo $?
/bin/nothing 2>/dev/null; echo $?; touch notexec; ./notexec 2>/dev/null; echo $?
printf '#!/bin/sh\necho "script $0 $1"\n' > script; chmod +x script; ./script argument
printf '#!/bin/sed -n\n2p\n' > sedscript; chmod +x sedscript
printf '#!/bin/awk -f\nBEGIN { print "awk script" }\n' > awkscript; chmod +x awkscript; ./awkscript
hello from the outside; hello | cat
exec sh -c 'echo replaced $1' - yes
