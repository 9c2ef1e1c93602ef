/* The levels of the page-table tree: two, unless the architecture has a header of this name. */
#ifndef ARCH_LEVELS_H
#define ARCH_LEVELS_H
#include <two_levels.h>

#endif
