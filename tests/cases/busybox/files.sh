# Applets that work on files and directories.
mkdir -p files/a/b/c && cd files || exit 1
touch a/1 a/b/2 a/b/c/3; chmod 600 a/1; ln a/1 a/hard; ln -s b/2 a/soft
find . | sort
find . -type f -name '[0-9]' | sort
find . -type l -exec readlink {} \;
stat -c '%a %h %F %s' a/1 a/soft
cp -r a copy; diff -r a copy && echo same
echo changed > copy/b/2; diff -r a copy; cmp a/b/2 copy/b/2
mv copy/b moved; ls -1 moved copy
rm -r moved; [ -d moved ] || echo removed
rmdir copy 2>&1; rm -rf copy
dd if=/dev/zero of=big bs=4k count=64 2>/dev/null; ls -l big | awk '{ print $1, $5 }'
truncate -s 1000 big; wc -c big; truncate -s 100k big; tail -c 10 big | od -c
install -m 755 a/1 installed; stat -c %a installed
mktemp -d ./tmpXXXXXX | sed 's/XXXXXX//; s/[A-Za-z0-9]*$/x/'
basename /x/y/z.c .c; dirname /x/y/z.c; realpath a/b/../soft
du -s a >/dev/null && echo du
chown 0:0 a/1 && stat -c '%u %g' a/1
test -x installed && echo executable
split -l 3 - part <<END
1
2
3
4
5
END
cat partaa; echo -; cat partab
ls -1d p*; ls -A | sort | head -n 3
cat a/none 2>&1; ls none 2>&1; echo $?
tree a 2>/dev/null | tail -n 1
sync && echo sync
