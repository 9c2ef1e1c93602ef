/* The kernel's log, which syslog(2) reads. */
#ifndef LOG_H
#define LOG_H
#include <types.h>

#define LOG_SIZE 16384u         /* bytes kept; a power of two */
extern char log_text[LOG_SIZE];
extern u32 log_written;         /* counts bytes; positions are modulo LOG_SIZE */
extern void (*log_news)(void);  /* called after each write; NULL: nobody waits */

#endif
