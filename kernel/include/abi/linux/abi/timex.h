/* adjtimex(2): uapi linux/timex.h. */
#ifndef ABI_TIMEX_H
#define ABI_TIMEX_H
#include <types.h>

#define ADJ_FREQUENCY         0x0002u
#define ADJ_MAXERROR          0x0004u
#define ADJ_ESTERROR          0x0008u
#define ADJ_STATUS            0x0010u
#define ADJ_TIMECONST         0x0020u
#define ADJ_TAI               0x0080u
#define ADJ_SETOFFSET         0x0100u
#define ADJ_MICRO             0x1000u
#define ADJ_NANO              0x2000u
#define ADJ_TICK              0x4000u
#define ADJ_ADJTIME           0x8000u  /* for adjtime(), with one of the next two flags */
#define ADJ_OFFSET_SINGLESHOT 0x0001u
#define ADJ_OFFSET_READONLY   0x2000u

#define STA_UNSYNC    0x0040
#define STA_NANO      0x2000
#define STA_READ_ONLY 0xff00

#define TIME_OK    0
#define TIME_ERROR 5    /* the clock is not synchronized */

#define TIMEX_FREQUENCY_MAX 32768000    /* 500 parts in a million, by 2^16 */
#define TIMEX_ERROR_MAX     16000000    /* us */

struct timex32 {
	u32 modes;
	s32 offset, frequency, error_most, error_estimate, status, constant, precision, tolerance;
	s32 seconds, sub_seconds, tick;
	s32 pps[8];     /* of a pulse-per-second source: there is none */
	s32 tai;
	s32 pad[11];
};

struct timex64 {
	u32 modes, pad0;
	s64 offset, frequency, error_most, error_estimate;
	s32 status, pad1;
	s64 constant, precision, tolerance, seconds, sub_seconds, tick;
	s64 pps[8];     /* one of them is the 32-bit shift with its padding */
	s32 tai;
	s32 pad2[11];
};
_Static_assert(sizeof(struct timex32) == 128 && sizeof(struct timex64) == 208, "struct timex");

#endif
