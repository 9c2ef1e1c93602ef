/* How long interrupts wait during calls. Uses guest time, so only our kernel can pass. */
#ifndef PAGEWALK_TEST_LATENCY_H
#define PAGEWALK_TEST_LATENCY_H

#include "check.h"

/* Runs each function once in a child, prints what /proc/latency then reports, and checks the longest time. Does nothing
 * where time limits do not apply. */
void latency_check(const struct test_case *calls, size_t count);

#endif
