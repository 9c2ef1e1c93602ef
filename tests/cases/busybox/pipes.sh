# Pipelines of many kinds.
seq 1 1000 | wc -l
seq 1 20000 | sort -rn | head -n 3
seq 1 100 | while read n; do echo $((n * n)); done | tail -n 1
yes | head -n 5 | tr y n | sort | uniq -c | sed 's/^ *//'
false | true; echo "$?"
set -o pipefail; false | true; echo "$?"; set +o pipefail
true | false; echo "$?"
! true | false; echo "$?"
echo a b c | tr ' ' '\n' | cat | cat | cat | cat | cat | cat | nl | sed 's/^ *//'
(echo one; sleep 0.1; echo two) | while read word; do echo "got $word"; done
dd if=/dev/zero bs=1k count=300 2>/dev/null | tr '\0' x | wc -c
seq 1 50000 | md5sum
cat /dev/zero | head -c 100000 | sha1sum
seq 5 | xargs -n 2 echo
seq 8 | xargs -n 1 -P 4 echo | sort
mkfifo fifo; cat fifo & echo through a fifo > fifo; wait; rm fifo
echo data | tee one two | cat; cat one two; rm one two
i=0; while [ $i -lt 50 ]; do echo $i | cat; i=$((i + 1)); done | tail -n 1
