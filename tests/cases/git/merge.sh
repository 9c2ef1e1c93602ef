# Merges with and without conflict, a rebase, stashed work, and a pack that is damaged.
. /cases/common
new /tmp/merge
seq 1 40 > a; seq 1 10 > b; git add . && commit -m base
git checkout -q -b side
sed -i 's/^5$/five/' a; echo side > c; git add . && commit -m side
git checkout -q main
sed -i 's/^35$/thirty-five/' a; git add . && commit -m main
GIT_AUTHOR_DATE='1000001000 +0000' GIT_COMMITTER_DATE='1000001000 +0000' git merge -q -m merged side; echo "merge: $?"
git rev-parse HEAD; sed -n '5p;35p' a
git checkout -q -b other HEAD~1; sed -i 's/^5$/FIVE/' a; git add . && commit -m other
git merge side; echo "conflict: $?"
grep -c '^[<>=]\{7\}' a
git checkout -q --theirs a && git add a && commit -m resolved && git log --graph --format=%s
git checkout -q -b moved main~1; echo m > m; git add . && commit -m moved
GIT_COMMITTER_DATE='1000002000 +0000' git rebase -q main; echo "rebase: $?"; git rev-parse HEAD
echo work >> b; GIT_AUTHOR_DATE='1000003000 +0000' GIT_COMMITTER_DATE='1000003000 +0000' git stash -q; cat b | tail -1; git stash pop -q; tail -1 b
git checkout -q -f main; git gc -q
pack=$(ls .git/objects/pack/*.pack); chmod 600 "$pack"
printf 'XXXX' | dd of="$pack" bs=1 seek=200 conv=notrunc 2>/dev/null
git fsck > /tmp/fsck 2>&1; echo "damaged: $(($? != 0))"
