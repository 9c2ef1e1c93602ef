-- Strings: patterns, packing, formatting, large buffers.
print(("hello world"):find("o w"), ("hello"):find("l+"), ("key = value"):match("^(%w+)%s*=%s*(%w+)$"))
print(("abc"):rep(3, "-"), ("hello"):sub(-3), ("hello"):byte(1, -1), string.char(72, 105), ("x"):len())
print(("the cat sat"):gsub("%w+", string.upper), ("abc"):gsub("", "-"), ("hello world"):gsub("o", { o = "0" }))
print(("%d"):rep(3):format(1, 2, 3), ("[%10s|%-10s]"):format("r", "l"))
for k, v in ("a=1, b=2, c=3"):gmatch("(%w+)=(%w+)") do io.write(k, v, ";") end
print()
print(("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):find("%((%a+)%)"), (" trim "):match("^%s*(.-)%s*$") .. "|")
print(string.pack(">i4", 258):byte(1, -1)); print(string.unpack("<i2", "\1\2"), string.packsize("i4i8"))
print(utf8.char(228, 8364, 128512), utf8.len("äöü"), #utf8.char(8364))
for p, c in utf8.codes("aß€") do io.write(p, ":", c, " ") end
print()
local t = {}
for i = 1, 20000 do t[#t + 1] = tostring(i) end
local s = table.concat(t, ",")
print(#s, s:sub(1, 20), select(2, s:gsub(",", "")))
local r = s:reverse():lower():upper()
print(#r, r:sub(1, 10))
print(pcall(string.rep, "x", -1), pcall(string.format, "%d", "x"))
print(("x"):rep(1000000):len(), ("a,b,,c"):find(",", 1, true))
print(load("return 'a' .. 'b'")(), #string.dump(function() return 1 end) > 10)
print(string.format("%-5s|%5s|%.3s|%%|%c|%i|%u", "ab", "cd", "abcdef", 65, 3, 4))
print("a" < "b", "a" < "A", "" < "a", "10" < "9")
