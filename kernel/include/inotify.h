/* inotify: events of files and names, for who watches them (fs/inotify.c). */
#ifndef INOTIFY_H
#define INOTIFY_H

#include <abi/inotify.h>
#include <fs.h>

#define INOTIFY_EVENTS_MAX 16384u	/* that wait in one queue, as Linux's max_queued_events */
#define INOTIFY_WATCHES_MAX 8192u	/* in all */

extern u32 inotify_watches;	/* in all: 0 spares everybody the rest */

/* Of a name in a directory; `is_dir`: it names one. cookie joins the two events of a move. */
void inotify_name(struct inode *dir, u32 mask, u32 cookie, const char *name, size_t len, bool is_dir);
/* Of a file that was reached by this name: for who watches it, or the directory that the name is in. */
void inotify_file(struct dentry *, u32 mask);
/* From one place to another, by these dentries' names now and before. */
void inotify_move(struct inode *from, const char *name, size_t len, struct dentry *now);
/* The inode goes: who watches it is told, and watches no more. */
void inotify_gone(struct inode *);

static inline void note_file(struct dentry *d, u32 mask)
{
	if (inotify_watches)
		inotify_file(d, mask);
}

static inline void note_name(struct inode *dir, u32 mask, const char *name, size_t len, bool is_dir)
{
	if (inotify_watches)
		inotify_name(dir, mask, 0, name, len, is_dir);
}

#endif
