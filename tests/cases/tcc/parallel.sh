# Every file of Lua by itself, three at a time, and the objects linked; run by the compile workload's own script.
sh /bench/compile.sh 3 /usr/src/lua /tmp/objects
