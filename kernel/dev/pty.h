/* Shared by pseudo-terminals and their names. */
#ifndef PTY_H
#define PTY_H
#include "tty_internal.h"

#define PTY_MAX 64u     /* at once */
#define PTY_OUTPUT 4096u        /* characters kept for the controlling side */
#define PTS_MAJOR 136u  /* Linux, admin-guide/devices */

struct pty {
	struct tty tty;
	struct list_head link;          /* in ptys */
	u32 number;
	u32 refs;                       /* the controlling side and each file on the terminal */
	u32 open;                       /* files on the terminal */
	bool was_open;                  /* the terminal has been opened */
	bool locked;                    /* until unlockpt(3) */
	struct inode *inode;            /* of the terminal; NULL: the controlling side is gone */
	u8 output[PTY_OUTPUT];
	u32 head, tail;                 /* counts of characters; positions are modulo PTY_OUTPUT */
	struct waitq shown;             /* output came, or the last file was closed */
	struct waitq taken;             /* room for input */
	struct wake_note show_note, take_note;  /* of these queues */
};

extern struct list_head ptys;           /* in order of their numbers */
extern u32 pty_count;
extern const struct file_ops pts_ops;

struct inode *pts_inode(struct pty *);  /* NULL: no memory */

struct filesystem *devpts_new(const char *source);

#endif
