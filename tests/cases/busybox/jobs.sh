# Background jobs, waiting, signals and traps.
sleep 0.1 & wait $!; echo "waited $?"
(exit 7) & wait $!; echo "status $?"
sleep 100 & pid=$!; kill $pid; wait $pid 2>/dev/null; echo "terminated $?"
sleep 100 & pid=$!; kill -9 $pid; wait $pid 2>/dev/null; echo "killed $?"
for i in 1 2 3 4 5; do (sleep 0.0$i; exit $i) & done; wait; echo "all done $?"
trap 'echo caught' USR1; kill -USR1 $$; echo "after the trap"
trap 'echo leaving' EXIT
trap '' TERM; kill -TERM $$; echo "ignored"; trap - TERM
(trap 'echo inner exit' EXIT; exit 4); echo "subshell $?"
sh -c 'kill -INT $$; echo not reached'; echo "int $?"
sh -c 'trap "echo got int; exit 9" INT; kill -INT $$; sleep 1'; echo "int $?"
jobs >/dev/null; set -m
sleep 100 & kill -STOP %1; sleep 0.1; jobs | sed 's/ *sleep/ sleep/'
kill -CONT %1; sleep 0.1; jobs | sed 's/ *sleep/ sleep/'
kill %1; sleep 0.3; wait %1 2>/dev/null; echo "job $?"; jobs >/dev/null
sleep 0.2 & fg %% >/dev/null; echo "foreground $?"
set +m
timeout 1 sleep 100; echo "timeout $?"
timeout 10 echo in time
nohup sh -c 'echo hup; kill -HUP $$; echo still here' 2>/dev/null
setsid sh -c 'echo session' | cat
(sleep 0.1; echo late) & (echo early) & wait
kill -l 9 15
kill -0 $$ && echo alive
kill -0 99999 2>/dev/null || echo "no such process"
