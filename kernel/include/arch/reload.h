/* The reload handlers' images, bound to the vectors by the policies reload and htab. */
#ifndef ARCH_RELOAD_H
#define ARCH_RELOAD_H

#include <types.h>

extern u64 reloads_c;           /* reloads that C has done */

void reload_bind(bool assembly);
void reload_rebind(void);       /* after htab changed */

#endif
