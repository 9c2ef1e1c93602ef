# A Unix socket, a snapshot in the background, and a server that starts again from it; a journal of writes after a kill.
cd /tmp && mkdir unix && cd unix || exit 1
ask() { redis-cli -s /tmp/unix/socket "$@"; }
start() {
	redis-server --port 0 --unixsocket /tmp/unix/socket --dir /tmp/unix "$@" >> log 2>&1 & server=$!
	until [ "$(ask ping 2>/dev/null)" = PONG ]; do sleep 0.1; done
}
saved() { while ask info persistence | grep -q "$1:1"; do sleep 0.1; done; ask info persistence | grep "$2" | tr -d '\r'; }

start --save ''
ask eval 'for i = 1, 2000 do redis.call("set", "key:" .. i, string.rep("x", i % 100)) end return redis.call("dbsize")' 0
before=$(ask debug digest 2>&1)
ask bgsave; saved rdb_bgsave_in_progress rdb_last_bgsave_status
redis-benchmark -s /tmp/unix/socket -n 200 -c 4 -t ping,incr -q | tr '\r' '\n' | sed -n 's/^\([A-Z_]*\)[ :].* requests per second.*/\1 done/p'
ask shutdown nosave; wait $server; echo "server: $?"

start --save ''
ask dbsize; ask get key:42; ask strlen key:1999
ask config set appendonly yes; saved aof_rewrite_in_progress aof_last_bgrewrite_status
ask config set appendfsync always
ask set after snapshot
{ kill -9 $server; wait $server; } 2> /dev/null; echo "server: $?"

start --save '' --appendonly yes
ask dbsize; ask get after
ask shutdown nosave; wait $server; echo "server: $?"
