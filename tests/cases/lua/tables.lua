-- Tables, metatables, closures, coroutines, garbage collection.
local t = {}
for i = 1, 50000 do t[i] = (i * 7919) % 50021 end
table.sort(t)
local ok = true
for i = 2, #t do ok = ok and t[i - 1] <= t[i] end
print(ok, t[1], t[#t], #t)
table.insert(t, 1, -1); table.remove(t, 2); print(t[1], #t, table.unpack({ 1, 2, 3 }))
table.sort(t, function(a, b) return a > b end); print(t[1], t[#t])
local m = setmetatable({}, { __index = function(_, k) return k .. "!" end, __call = function(_, a) return a * 2 end,
	__add = function(a, b) return "added" end, __tostring = function() return "object" end, __len = function() return 99 end,
	__eq = function() return true end, __lt = function() return true end, __concat = function() return "joined" end,
	__close = function() print("closed") end })
print(m.x, m(21), m + 1, tostring(m), #m, m .. "x")
do local c <close> = m end
local function counter() local n = 0; return function() n = n + 1; return n end end
local a, b = counter(), counter(); a(); a(); print(a(), b())
local co = coroutine.wrap(function(x) for i = 1, 3 do x = coroutine.yield(x * i) end; return "end" end)
print(co(10), co(20), co(30), co(0))
local gen = coroutine.create(function() error({ code = 7 }) end)
local good, err = coroutine.resume(gen); print(good, err.code, coroutine.status(gen))
local threads = {}
for i = 1, 500 do threads[i] = coroutine.create(function() for _ = 1, 10 do coroutine.yield(i) end end) end
local sum = 0
for _ = 1, 10 do for _, c in ipairs(threads) do sum = sum + select(2, coroutine.resume(c)) end end
print(sum)
local weak = setmetatable({}, { __mode = "k" })
for i = 1, 1000 do weak[{}] = i end
collectgarbage(); print(next(weak) == nil)
local finalized = 0
for i = 1, 100 do setmetatable({}, { __gc = function() finalized = finalized + 1 end }) end
collectgarbage(); print(finalized)
local big = {}
for i = 1, 100000 do big[i] = { i } end
big = nil; collectgarbage(); print(collectgarbage("count") < 20000)
print(pcall(error, "message"), select("#", pcall(error)), pcall(function() local x = nil; return x.y end))
print(xpcall(function() error("deep", 0) end, function(e) return "handled " .. e end))
local function depth(n) return n == 0 and 0 or 1 + depth(n - 1) end
print(depth(10000), pcall(function() local function f(s) return (s:gsub(".", f)) end; return f("x") end) == false)
goto done
print("skipped")
::done::
print(rawequal(m, m), rawlen({ 1, 2 }), rawget(m, "x"), next({}), type(next), #arg)
