# A session with a database file: schema, transactions, joins, indexes, triggers, and a check of the file's integrity.
sqlite3 /tmp/session.db <<'END'
PRAGMA journal_mode = DELETE;
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER, height REAL);
CREATE TABLE visit(person REFERENCES person(id), day INTEGER, place TEXT);
CREATE INDEX visit_day ON visit(day);
CREATE VIEW traveller AS SELECT name, count(*) AS visits FROM person JOIN visit ON person.id = visit.person GROUP BY name;
CREATE TABLE log(text);
CREATE TRIGGER note AFTER INSERT ON visit BEGIN INSERT INTO log VALUES('visit of ' || new.person); END;
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO person SELECT i, 'name' || (i * 7919 % 1000), 1900 + i % 100, 1.5 + (i % 50) / 100.0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO visit SELECT i * 31 % 2000 + 1, i % 365, 'place' || (i % 17) FROM n;
COMMIT;
SELECT count(*), min(born), max(height), avg(height), sum(id) FROM person;
SELECT name, visits FROM traveller ORDER BY visits DESC, name LIMIT 5;
SELECT place, count(*) FROM visit GROUP BY place ORDER BY 2 DESC, 1 LIMIT 3;
SELECT count(*) FROM log;
BEGIN; DELETE FROM person WHERE id % 2; SELECT count(*) FROM person; ROLLBACK; SELECT count(*) FROM person;
UPDATE visit SET place = upper(place) WHERE day < 10; SELECT count(*) FROM visit WHERE place GLOB 'PLACE*';
DELETE FROM visit WHERE day > 300; SELECT count(*) FROM visit;
SELECT p.name, q.name FROM person p JOIN person q ON p.born = q.born AND p.id < q.id WHERE p.id < 5 ORDER BY p.id, q.id LIMIT 4;
EXPLAIN QUERY PLAN SELECT * FROM visit WHERE day = 5;
SELECT round(sqrt(2), 10), abs(-5), substr('hello', 2, 3), hex('abc'), 7 / 2, 7 / 2.0, 9223372036854775807, 1e300 * 10;
INSERT INTO person VALUES(1, 'twice', 0, 0);
VACUUM;
PRAGMA integrity_check;
END
echo "status $?"
sqlite3 /tmp/session.db 'PRAGMA integrity_check; SELECT count(*) FROM person; SELECT * FROM visit ORDER BY day, person LIMIT 3;'
sqlite3 -csv -header /tmp/session.db 'SELECT * FROM person WHERE id < 4;'
sqlite3 /tmp/session.db .dump | md5sum
sqlite3 /tmp/session.db .dump | sqlite3 /tmp/copy.db; sqlite3 /tmp/copy.db 'SELECT count(*) FROM visit; PRAGMA integrity_check;'
cksum < /tmp/copy.db | wc -l; ls /tmp/*.db
