-- Integers, floats, their text, and arithmetic at the edges.
print(math.maxinteger, math.mininteger, math.maxinteger + 1 == math.mininteger)
print(7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, 2^53, 2^0.5)
print(1e15, 1e16, 1e100, 0.1, 1/3, -0.0, 1/0, -1/0, 0/0 ~= 0/0)
print(string.format("%5.2f %e %g %x %d %q %a", 3.14159, 12345.678, 1e-10, 255, 42, "a\nb", 0.5))
print(3 | 4, 7 & 2, 5 ~ 1, ~0, 1 << 62, 1 >> 1, "10" + 5, 10 .. 20)
print(tonumber("0x1p4"), tonumber("  12  "), tonumber("z", 36), tonumber("1e"), math.tointeger(3.0))
print(math.floor(-3.5), math.ceil(-3.5), math.fmod(-7, 3), math.ult(1, -1), math.type(1), math.type(1.0))
local sum = 0.0
for i = 1, 100000 do sum = sum + 1 / i end
print(string.format("%.15f", sum))
for _, f in ipairs { "sin", "cos", "exp", "log", "sqrt", "atan" } do io.write(string.format("%s %.14g ", f, math[f](0.7))) end
print()
local h = 0
for i = 1, 200000 do h = (h * 31 + i) & 0xffffffff end
print(h)
for i = 10, 1, -3 do io.write(i, " ") end
for x = 0, 1, 0.25 do io.write(x, " ") end
print()
math.randomseed(42)
print(math.random(1, 1) == 1, math.random() < 1)
