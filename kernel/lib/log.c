/* The kernel's messages, kept for syslog(2) (stat/syslog.c) whether or not the console shows them. */
#include <arch.h>
#include <lib.h>
#include <log.h>

char log_text[LOG_SIZE];
u32 log_written;
void (*log_news)(void);

/* Appends to the log, overwriting the oldest bytes. */
static void log_write(const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		log_text[log_written++ % LOG_SIZE] = from[i];
	if (log_news)
		log_news();
}

void printk(const char *format, ...)
{
	char line[256];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_write(line, MIN((size_t)length, sizeof(line) - 1));
	if (!boot.quiet)
		console_printf("%s", line);
}
