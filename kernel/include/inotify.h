/* inotify: reports events of files and names to watchers (fs/inotify.c). */
#ifndef INOTIFY_H
#define INOTIFY_H
#include <abi/inotify.h>
#include <fs.h>

#define INOTIFY_EVENTS_MAX 16384u       /* in one queue, as Linux's max_queued_events */
#define INOTIFY_WATCHES_MAX 8192u       /* of one user */
#define INOTIFY_INSTANCES_MAX 128u      /* of one user */

extern u32 inotify_watches;     /* watches in all; with 0, events are not even prepared */

/* Reports an event of a name in a directory; `is_dir`: it names a directory. cookie joins the two events of a move. */
void inotify_name(struct inode *dir, u32 mask, u32 cookie, const char *name, size_t len, bool is_dir);
/* Reports an event of a file opened by this name to the watchers of the file and of the name's directory. */
void inotify_file(struct dentry *, u32 mask);
/* Reports a move: the old directory and name, and the dentry that the file has now. */
void inotify_move(struct inode *from, const char *name, size_t len, struct dentry *now);
/* Tells the watchers that the inode is freed, and removes their watches. */
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
