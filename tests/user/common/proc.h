/* Files of /proc that take words and have numbers behind names. */
#ifndef PAGEWALK_TEST_PROC_H
#define PAGEWALK_TEST_PROC_H

/* Writes the words to the file; returns 0, or the error as a negative number. */
int proc_store(const char *path, const char *words);
/* The number behind the first `name` in the file; the case fails if it is not there. */
unsigned long long proc_count(const char *path, const char *name);

/* The same for /proc/policy, which only our kernel has: words such as "tlb.flush=lazy", names such as "flushed=". */
int policy_set(const char *words);
unsigned long long policy_count(const char *name);

#endif
