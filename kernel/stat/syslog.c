/* syslog(2): reads the kernel's messages. */
#include <arch.h>
#include <lib.h>
#include <log.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <wait.h>

enum {
	SYSLOG_CLOSE, SYSLOG_OPEN, SYSLOG_READ, SYSLOG_READ_ALL, SYSLOG_READ_CLEAR, SYSLOG_CLEAR, SYSLOG_CONSOLE_OFF,
	SYSLOG_CONSOLE_ON, SYSLOG_CONSOLE_LEVEL, SYSLOG_SIZE_UNREAD, SYSLOG_SIZE_BUFFER,
};

static u32 bytes_taken, bytes_cleared;  /* positions as log_written */
static struct waitq log_readers = WAITQ_INIT(log_readers);
static struct wake_note readers_note = { .work.link = LIST_HEAD_INIT(readers_note.work.link), .wq = &log_readers };

static void wake_readers(void)
{
	wake_up_noted(&readers_note);
}

/* The position of the oldest byte from `start` on that is not overwritten. */
static u32 log_oldest(u32 start)
{
	return log_written - start > LOG_SIZE ? log_written - LOG_SIZE : start;
}

static long log_give(char *user, u32 from, u32 size)
{
	for (u32 i = 0; i < size; i++)
		if (put_user(log_text[(from + i) % LOG_SIZE], user + i))
			return -EFAULT;
	return (long)size;
}

/* Waits for bytes that no read has taken, and takes them. */
static long log_take(char *user, u32 size)
{
	long n;

	log_news = wake_readers;
	n = wait_event(&log_readers, log_written != bytes_taken);
	if (n)
		return n;
	bytes_taken = log_oldest(bytes_taken);
	n = log_give(user, bytes_taken, MIN(size, log_written - bytes_taken));
	if (n > 0)
		bytes_taken += (u32)n;
	return n;
}

/* Copies the last `size` bytes since the log was cleared. */
static long give_last(char *user, u32 size)
{
	u32 there = log_written - log_oldest(bytes_cleared), n = MIN(size, there);

	return log_give(user, log_written - n, n);
}

/* Whether the request sets the console's level. It is accepted without effect: there are no levels. */
static bool sets_console(int type, int size)
{
	return type == SYSLOG_CONSOLE_OFF || type == SYSLOG_CONSOLE_ON ||
	       (type == SYSLOG_CONSOLE_LEVEL && size >= 1 && size <= 8);
}

long sys_syslog(int type, char *user, int size)
{
	bool reads = type == SYSLOG_READ || type == SYSLOG_READ_ALL || type == SYSLOG_READ_CLEAR;
	long n;

	if (type < SYSLOG_CLOSE || type > SYSLOG_SIZE_BUFFER)
		return -EINVAL;
	if (type != SYSLOG_READ_ALL && type != SYSLOG_SIZE_BUFFER && !capable())
		return -EPERM;
	if (reads && (!user || size < 0))
		return -EINVAL;
	if (reads && !size)
		return 0;
	switch (type) {
	case SYSLOG_READ:
		return log_take(user, (u32)size);
	case SYSLOG_READ_ALL:
	case SYSLOG_READ_CLEAR:
		n = give_last(user, (u32)size);
		if (type == SYSLOG_READ_CLEAR && n >= 0)
			bytes_cleared = log_written;
		return n;
	case SYSLOG_CLEAR:
		bytes_cleared = log_written;
		return 0;
	case SYSLOG_SIZE_UNREAD:
		return (long)(log_written - log_oldest(bytes_taken));
	case SYSLOG_SIZE_BUFFER:
		return (long)LOG_SIZE;
	}
	return type == SYSLOG_OPEN || type == SYSLOG_CLOSE || sets_console(type, size) ? 0 : -EINVAL;
}
