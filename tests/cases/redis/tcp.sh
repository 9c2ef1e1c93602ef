# Values of every kind and a script, over TCP; what a client that asks for too much is told.
cd /tmp && mkdir tcp && cd tcp || exit 1
redis-server --port 46379 --bind 127.0.0.1 --save '' --daemonize no > log 2>&1 & server=$!
ask() { redis-cli -h 127.0.0.1 -p 46379 "$@"; }
until [ "$(ask ping 2>/dev/null)" = PONG ]; do sleep 0.1; done
ask set name value; ask get name; ask append name +more; ask strlen name
ask rpush list one two three; ask lrange list 0 -1
ask hset hash a 1 b 2; ask hget hash b
ask sadd set x y z x; ask scard set
ask zadd sorted 3 c 1 a 2 b; ask zrange sorted 0 -1 withscores
ask setbit bits 1000 1; ask bitcount bits
ask eval 'local sum = 0; for i = 1, 1000 do sum = sum + i * i end; return {sum, redis.call("get", KEYS[1])}' 1 name
ask eval 'return redis.call("none")' 0
ask lrange name 0 1
printf 'multi\nincr counter\nincr counter\nexec\n' | ask
ask object encoding hash
redis-benchmark -h 127.0.0.1 -p 46379 -n 400 -c 8 -t set,get,lpush,lpop,sadd,mset -q | tr '\r' '\n' | sed -n 's/^\([A-Z]*\)[ :].* requests per second.*/\1 done/p'
ask dbsize
ask shutdown nosave; wait $server; echo "server: $?"
grep -c 'crashed' log
