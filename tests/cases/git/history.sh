# 200 files, twenty commits, a pack, and what fsck says of it.
. /cases/common
new /tmp/history
n=0
while [ $n -lt 200 ]; do
	mkdir -p d$((n % 7))
	seq $n $((n + 50)) > d$((n % 7))/file$n
	n=$((n + 1))
done
git add . && commit -m 'all files'
n=1
while [ $n -le 20 ]; do
	echo "change $n" >> d$((n % 7))/file$n
	git rm -q d$(((n + 100) % 7))/file$((n + 100))
	git mv d$(((n + 50) % 7))/file$((n + 50)) moved$n
	git add . && commit -m "change $n"
	n=$((n + 1))
done
git log --oneline | wc -l
git rev-parse HEAD 'HEAD^{tree}' HEAD~10
git ls-files | wc -l
git count-objects
git gc -q --prune=now; echo "gc: $?"
git count-objects
git fsck --full --strict; echo "fsck: $?"
git log --stat --oneline -2
git diff HEAD~3 | sha1sum
git show HEAD~20:d3/file3 | sha1sum
git archive HEAD | tar t | wc -l
git clone -q --template= /tmp/history /tmp/copy && cd /tmp/copy && git status --short && git rev-parse HEAD
