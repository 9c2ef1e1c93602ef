/* A xorshift generator (Marsaglia, 2003): repeatable from its seed, not for secrets. */
#include <lib.h>
#include <random.h>

static u32 random_state[4];

void random_seed(u32 seed)
{
	for (int i = 0; i < 4; i++) {
		seed = seed * 1664525u + 1013904223u;
		random_state[i] = seed | 1;
	}
}

u32 random_u32(void)
{
	u32 t = random_state[3], s = random_state[0];

	random_state[3] = random_state[2];
	random_state[2] = random_state[1];
	random_state[1] = s;
	t ^= t << 11;
	t ^= t >> 8;
	return random_state[0] = t ^ s ^ s >> 19;
}

void random_bytes(void *to, size_t n)
{
	u8 *bytes = to;

	u32 word = 0;

	for (size_t i = 0; i < n; i++, word >>= 8) {
		if (i % 4 == 0)
			word = random_u32();
		bytes[i] = (u8)word;
	}
}
