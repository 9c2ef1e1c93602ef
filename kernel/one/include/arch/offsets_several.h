/* One processor: no assembly for several. */
#ifndef ARCH_OFFSETS_SEVERAL_H
#define ARCH_OFFSETS_SEVERAL_H

#define OFFSETS_SEVERAL do { } while (0)

#endif
