# Compression and archives, and checksums over larger files.
mkdir archives && cd archives || exit 1
seq 1 30000 > numbers; cp /bin/busybox program
md5sum numbers; sha256sum numbers; sha512sum numbers | cut -c1-32; sha3sum numbers
for method in gzip bzip2; do
	$method -k numbers 2>/dev/null || $method -c numbers > numbers.x
done
ls | sort
gunzip -c numbers.gz | cmp - numbers && echo gzip
bunzip2 -c numbers.bz2 | cmp - numbers && echo bzip2
gzip -c program | gunzip -c | cmp - program && echo program
lzop -c numbers 2>/dev/null | lzop -dc 2>/dev/null | cmp - numbers && echo lzop
tar cf all.tar numbers program; tar tf all.tar
mkdir out; tar xf all.tar -C out; cmp out/numbers numbers && cmp out/program program && echo tar
tar czf all.tgz numbers; tar xzOf all.tgz numbers | wc -l
find numbers program | cpio -o -H newc 2>/dev/null > all.cpio; cpio -t < all.cpio 2>/dev/null
mkdir c; (cd c; cpio -i < ../all.cpio 2>/dev/null); cmp c/program program && echo cpio
ar -r lib.a numbers 2>/dev/null || echo "no ar -r"
cat numbers | gzip -9 | zcat | tail -n 1
od -An -tx4 program | head -n 1
