# Redirection in all its forms.
mkdir redirection && cd redirection || exit 1
echo one > a
echo two >> a
cat < a
cat a nothing 2>/dev/null; echo "status $?"
cat nothing 2>&1 | sed 's/.*: //'
{ echo out; echo err >&2; } > both 2>&1; cat both
exec 3> three; echo third >&3; exec 3>&-; cat three
exec 4< a; read first <&4; read second <&4; echo "$second $first"; exec 4<&-
cat <<END
here $((6 * 7)) $(echo nested)
END
cat <<'END'
$literal `text`
END
cat <<-END
	tabs are cut
	END
set -C; echo no > a 2>/dev/null || echo "noclobber"; echo yes >| a; cat a; set +C
: > empty; wc -c < empty
echo x > /dev/null; cat /dev/null
(echo sub; exit 3) > s; echo "$? $(cat s)"
read line < a; echo "[$line]"
echo appended 1>> a 2>&1; wc -l < a
tail -n 1 < a 1>&2
