-- Files, processes and the clock through Lua's library.
local name = os.tmpname()
local f = assert(io.open(name, "w"))
for i = 1, 5000 do f:write(i, " line of text\n") end
f:close()
local n, bytes = 0, 0
for line in io.lines(name) do n = n + 1; bytes = bytes + #line end
print(n, bytes)
f = io.open(name, "r+"); f:seek("set", 10); f:write("XX"); f:seek("set", 5); print(f:read(10), f:seek("cur"), f:seek("end")); f:close()
f = io.open(name); print(f:read("n", "l", "L")); print(f:read("a"):len()); print(f:read("l"), f:read(0)); f:close()
print(io.open("/none/such", "r"))
print(os.rename(name, name .. ".new"), os.remove(name .. ".new"), os.remove("/none/such"))
local p = io.popen("echo from a child; exit 3"); print(p:read("a")); print(p:close())
p = io.popen("wc -l", "w"); for i = 1, 100 do p:write(i, "\n") end; p:close()
print(os.execute("exit 5")); print(os.execute("kill -9 $$")); print(os.execute())
print(os.time({ year = 1999, month = 2, day = 22, hour = 12 }), os.date("!%Y-%m-%d", 1000000000), os.getenv("HOME"))
print(os.clock() >= 0, os.difftime(5, 3), type(os.time()))
local f2 = io.tmpfile(); f2:write("temporary"); f2:seek("set"); print(f2:read("a")); f2:close()
print(pcall(io.lines, "/none/such"))
io.stderr:write("to standard error\n")
io.stdout:setvbuf("full"); io.write("buffered "); io.write("text\n"); io.stdout:flush()
local chunk = load("local x = ... ; return x * 2, _VERSION"); print(chunk(21))
print(load("syntax error here"))
package.path = "/tmp/?.lua"
local mod = io.open("/tmp/module_of_test.lua", "w"); mod:write("return { answer = 42 }"); mod:close()
print(require("module_of_test").answer, package.loaded.module_of_test.answer)
os.exit(12)
