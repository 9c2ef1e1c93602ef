#!/bin/sh
# rule.sh: the rules of a build, for the benchmark `build`.
#   rule.sh compile <source> <object without .o>   preprocesses the file to a checksum, then compiles it
#   rule.sh link <directory>                       links the directory's objects and prints checksums
# Ends with another status than 0 as soon as a step fails.
set -e
compiler="i386-tcc -I/lib/tcc/include -I/usr/include"
case $1 in
compile)
	$compiler -E -o "$3.i" "$2"
	cksum "$3.i" >"$3.sum"
	rm "$3.i"
	$compiler -c -o "$3.o" "$2"
	;;
link)
	objects=$(ls "$2"/*.o)
	i386-tcc -nostdlib -r -o "$2/library.o" $objects
	cksum "$2/library.o" >"$2/library.sum"
	;;
esac
