/* The levels of the page-table tree. */
#ifndef ARCH_LEVELS_H
#define ARCH_LEVELS_H
#include <two_levels.h>

#endif
