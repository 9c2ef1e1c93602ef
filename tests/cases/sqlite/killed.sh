# A writer that is killed in the middle of a transaction leaves a journal from which the database is whole again.
sqlite3 /tmp/k.db 'CREATE TABLE t(a INTEGER PRIMARY KEY, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 3000) INSERT INTO t SELECT i, hex(i) FROM n;'
mkfifo /tmp/orders
sqlite3 /tmp/k.db < /tmp/orders & writer=$!
exec 5> /tmp/orders
echo 'PRAGMA cache_size = 5; BEGIN; UPDATE t SET b = b || b; DELETE FROM t WHERE a > 100;' >&5
echo '.shell touch /tmp/reached' >&5
while [ ! -e /tmp/reached ]; do sleep 0.05; done
[ -s /tmp/k.db-journal ] && echo "journal"
kill -9 $writer; wait $writer 2>/dev/null; exec 5>&-	# the shell may or may not tell of the death
sqlite3 /tmp/k.db 'PRAGMA integrity_check; SELECT count(*), max(length(b)) FROM t;'
[ -e /tmp/k.db-journal ] || echo "journal gone"
