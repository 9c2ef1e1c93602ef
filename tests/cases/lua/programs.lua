-- Programs of some size: sieve, n queens, matrix, n-body, mandelbrot, permutations, a small interpreter.
local function sieve(n)
	local prime, count = {}, 0
	for i = 2, n do prime[i] = true end
	for i = 2, n do
		if prime[i] then count = count + 1; for j = i * i, n, i do prime[j] = false end end
	end
	return count
end
print(sieve(50000))
local function queens(n)
	local found, columns, up, down = 0, {}, {}, {}
	local function place(row)
		if row > n then found = found + 1; return end
		for c = 1, n do
			if not columns[c] and not up[row + c] and not down[row - c] then
				columns[c], up[row + c], down[row - c] = true, true, true
				place(row + 1)
				columns[c], up[row + c], down[row - c] = nil, nil, nil
			end
		end
	end
	place(1)
	return found
end
print(queens(7))
local function matrix(n)
	local m = {}
	for i = 1, n do m[i] = {}; for j = 1, n do m[i][j] = (i - j) * (i + j) / n end end
	return m
end
local function multiply(a, b)
	local n, c = #a, {}
	for i = 1, n do
		local row = {}
		for j = 1, n do local s = 0; for k = 1, n do s = s + a[i][k] * b[k][j] end; row[j] = s end
		c[i] = row
	end
	return c
end
local p = multiply(matrix(40), matrix(40)); print(string.format("%.6f %.6f", p[3][5], p[40][40]))
local bodies = { { 0, 0, 0, 0, 0, 0, 39.47 }, { 4.84, -1.16, -0.10, 0.606, 2.81, -0.02, 0.037 }, { 8.34, 4.12, -0.4, -1.01, 1.82, 0.008, 0.011 } }
for _ = 1, 2000 do
	for i, a in ipairs(bodies) do
		for j = i + 1, #bodies do
			local b = bodies[j]
			local dx, dy, dz = a[1] - b[1], a[2] - b[2], a[3] - b[3]
			local d = dx * dx + dy * dy + dz * dz
			local mag = 0.01 / (d * math.sqrt(d))
			for k, v in ipairs { dx, dy, dz } do a[3 + k] = a[3 + k] - v * b[7] * mag; b[3 + k] = b[3 + k] + v * a[7] * mag end
		end
	end
	for _, a in ipairs(bodies) do for k = 1, 3 do a[k] = a[k] + 0.01 * a[3 + k] end end
end
for _, a in ipairs(bodies) do print(string.format("%.9f %.9f %.9f", a[1], a[2], a[3])) end
local inside = 0
for y = 0, 39 do
	for x = 0, 39 do
		local cr, ci, zr, zi, n = x / 20 - 1.5, y / 20 - 1, 0, 0, 0
		while n < 50 and zr * zr + zi * zi < 4 do zr, zi, n = zr * zr - zi * zi + cr, 2 * zr * zi + ci, n + 1 end
		if n == 50 then inside = inside + 1 end
	end
end
print(inside)
local function permutations(a, n, visit)
	if n == 0 then visit(a) else for i = 1, n do a[n], a[i] = a[i], a[n]; permutations(a, n - 1, visit); a[n], a[i] = a[i], a[n] end end
end
local seen, first = 0, nil
permutations({ 1, 2, 3, 4, 5, 6, 7 }, 7, function(a) seen = seen + 1; first = first or table.concat(a) end)
print(seen, first)
local function brainfuck(code, limit)
	local jump, stack, out, tape, at, i, steps = {}, {}, {}, {}, 0, 1, 0
	for k = 1, #code do
		local c = code:sub(k, k)
		if c == "[" then stack[#stack + 1] = k elseif c == "]" then local o = table.remove(stack); jump[o], jump[k] = k, o end
	end
	while i <= #code and steps < limit do
		local c = code:sub(i, i)
		if c == ">" then at = at + 1 elseif c == "<" then at = at - 1
		elseif c == "+" then tape[at] = ((tape[at] or 0) + 1) % 256 elseif c == "-" then tape[at] = ((tape[at] or 0) - 1) % 256
		elseif c == "." then out[#out + 1] = string.char(tape[at] or 0)
		elseif c == "[" and (tape[at] or 0) == 0 then i = jump[i] elseif c == "]" and (tape[at] or 0) ~= 0 then i = jump[i] end
		i, steps = i + 1, steps + 1
	end
	return table.concat(out), steps
end
print(brainfuck("++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+.>++.", 100000))
