# Applets that work on text.
cat > words <<END
the quick brown fox
jumps over the lazy dog
The Quick Brown Fox
12 apples
7 pears
100 plums
END
sort words; sort -n words | tail -n 3; sort -r words | head -n 1; sort -k2 words | head -n 2
grep -c the words; grep -i QUICK words; grep -v o words; grep -n '^[0-9]' words; grep -E 'fox|dog$' words; grep -o '[a-z]*' words | head -n 3
sed -n '2p;$p' words; sed 's/\(quick\) \(brown\)/\2 \1/; y/abc/ABC/' words | head -n 1; sed '/fox/d' words | wc -l; sed -e '1i\' -e 'inserted' words | head -n 2
awk '{ n[NF]++ } END { for (k in n) print k, n[k] }' words | sort
awk -F' ' '$1 ~ /^[0-9]+$/ { s += $1 } END { printf "%d %.3f\n", s, s / 7 }' words
awk 'BEGIN { while (i < 5) { x = x i; i++ }; print x, length(x), substr(x, 2, 3), toupper("abc"), index("hello", "l"); print sqrt(2), exp(1), int(7.9), 2 ^ 0.5 }'
awk 'function f(n) { return n <= 1 ? 1 : n * f(n - 1) } BEGIN { print f(10); split("a:b:c", p, ":"); print p[3]; gsub(/o/, "0", t); s = "foo boo"; print gsub(/oo/, "00", s), s }'
cut -d' ' -f2 words | head -n 2; cut -c1-3 words | tail -n 1
tr -d aeiou < words | head -n 1; tr -s l < words | head -n 2 | tail -n 1; echo hello | tr a-y b-z
uniq -c <<END | sed 's/^ *//'
a
a
b
a
END
head -n 2 words; tail -n 2 words; tail -n +5 words | head -c 5; echo
paste -d, words words | head -n 1; rev words | head -n 1; tac words | head -n 1; nl words | tail -n 1 | sed 's/^ *//'
fold -w 10 words | head -n 3; expand words | wc -c; wc words | sed 's/^ *//; s/  */ /g'
comm -12 words words | wc -l
od -A x -t x1 words | head -n 2; hexdump -C words | head -n 1; xxd words | head -n 1
strings words | head -n 1; expr 6 \* 7; expr length hello; expr abc : 'a\(.\)'; factor 360
echo '2^100; scale=20; 1/3' | bc; echo '2 3 + 4 * p' | dc
seq -s, 1 5; printf '%08.3f\n' 3.14159; echo a,b | awk -F, '{ print $2 }'
diff - words <<END
the quick brown fox
jumps over
END
patch --help 2>/dev/null; printf 'one\ntwo\n' > p1; printf 'one\nTWO\n' > p2; diff -u p1 p2 | sed '1,2d'
diff -u p1 p2 > d; patch p1 < d; cat p1
cal 9 1999; ed words <<END
1p
\$p
q
END
cksum words; sum words; dos2unix < words | md5sum; crc32 words
base64 words | head -n 1; base64 words | base64 -d | cmp - words && echo base64; uuencode words w | head -n 1
shuf -i 1-10 | sort -n | tail -n 1
column -t words 2>/dev/null; unexpand -a words | head -n 1; ascii | head -n 2 >/dev/null; echo done
