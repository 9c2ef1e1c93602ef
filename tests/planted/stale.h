/* What the cases of one processor (stale.c) and of several ones (several.c) share. */
#include <setjmp.h>

#define PAGE   4096
/* What one table maps: of 1,024 words, or of 512 double words. */
#define TABLE  (sizeof(long) == 4 ? 4L << 20 : 2L << 20)

void cannot(const char *what);
/* Pages without content, and pages with a 1 in each. */
volatile char *mapped(long pages, int protection);
volatile char *pages(long count);
int disk(void);

/* What refuses an access: a signal, from which the access does not return. */
extern __thread sigjmp_buf away;

/* The cases: whether the access used the old translation. */
int other_protect(void);
int other_unmap(void);
int other_many(void);
int other_drop(void);
int other_copy(void);
int pressure(void);
int frames(void);
int idle(void);
