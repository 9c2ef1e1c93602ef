# The write-ahead log and two processes on one database.
sqlite3 /tmp/wal.db <<'END'
PRAGMA journal_mode = WAL;
CREATE TABLE t(a, b);
INSERT INTO t VALUES(1, 'one'), (2, 'two');
END
for i in 1 2 3 4; do
	sqlite3 -cmd '.timeout 20000' /tmp/wal.db "BEGIN IMMEDIATE; INSERT INTO t SELECT a + $i * 10, b FROM t WHERE a < 3; COMMIT;" &
done
wait
sqlite3 /tmp/wal.db 'SELECT count(*), sum(a) FROM t; PRAGMA integrity_check;'
sqlite3 /tmp/wal.db <<'END'
PRAGMA wal_checkpoint(TRUNCATE);
PRAGMA journal_mode = DELETE;
CREATE VIRTUAL TABLE text USING fts5(body);
INSERT INTO text VALUES('the quick brown fox'), ('jumps over the lazy dog'), ('nothing here');
SELECT rowid FROM text WHERE text MATCH 'the' ORDER BY rowid;
SELECT highlight(text, 0, '[', ']') FROM text WHERE text MATCH 'quick OR lazy' ORDER BY rowid;
SELECT * FROM none;
END
echo "status $?"
