/* fuzz: random system calls from several processes.
 *
 *   fuzz [seed=<n>] [calls=<n>] [workers=<n>] [life=<n>] [trace=1]
 *
 * `workers` processes make random calls from the kernel's own table, with good and bad pointers, lengths, descriptors
 * and flags, and attack it by sequences of calls (attack.c). A worker that dies or hangs is replaced; so is every
 * worker after `life` calls. The workers' root is a file system of its own. After `calls` calls the driver removes all
 * their processes, file systems and System V objects; then the kernel must hold as many frames and objects as before
 * (/proc/frames). A separate process conducts each round and ends before the objects are counted, because the memory
 * that it touches varies. The same seed gives the same run: on a deterministic machine, in the same cycles.
 *
 * For a kernel under test only: fuzz ends every process except init and its own ancestors.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* Number of System V slots that are searched. */
#define SLOTS 256

/* A worker that makes no call in this many ticks is ended. */
#define PATIENCE 4
#define TICK_NS 5000000

/* Number of ticks that killed processes get to end. */
#define TRIES 40

struct settings {
	unsigned long seed, calls, workers, life, trace;
};

/* State that outlives a round: a page that the driver's processes share, but not with the workers. */
struct account {
	unsigned long calls, errors, digest, lives, stuck, roots;	/* the first three: of ended lives */
	struct sequence lives_random;
};

static struct settings settings = { 1, 20000, 4, 400, 0 };
static struct account *account;
static struct progress *progress;	/* one entry for each worker; all processes share the page */
static pid_t kept[2];	/* the process that counts objects, and its parent */
static pid_t pids[WORKERS_MOST];
static uint32_t seen[WORKERS_MOST], idle[WORKERS_MOST];

static void die(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(2);
}

/*
 * Reads a decimal number. The time depends only on the number of digits (a multiplication's time may depend on its
 * operands), so that a run with fewer calls begins with exactly the same cycles. Returns where the number ends.
 */
static const char *read_number(const char *digits, unsigned long *value)
{
	for (*value = 0; *digits >= '0' && *digits <= '9'; digits++)
		*value = (*value << 3) + (*value << 1) + (unsigned long)(*digits - '0');
	return digits;
}

static int parse(const char *word)
{
	static const struct {
		const char *name;
		unsigned long *value, least, most;
	} words[] = {
		{ "seed=", &settings.seed, 0, ~0ul },	       { "calls=", &settings.calls, 1, 1000000000 },
		{ "workers=", &settings.workers, 1, WORKERS_MOST }, { "life=", &settings.life, 1, 1000000 },
		{ "trace=", &settings.trace, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].name);
		const char *end;

		if (strncmp(word, words[i].name, n) != 0)
			continue;
		end = read_number(word + n, words[i].value);
		if (word[n] && !*end && *words[i].value >= words[i].least && *words[i].value <= words[i].most)
			return 0;
		fprintf(stderr, "fuzz: %s: allowed are %lu to %lu\n", word, words[i].least, words[i].most);
		return -1;
	}
	fprintf(stderr, "fuzz: unknown word '%s': allowed are seed=, calls=, workers=, life=, trace=\n", word);
	return -1;
}

static unsigned long calls_of(unsigned i)
{
	return progress[i].calls < settings.life ? progress[i].calls : settings.life;
}

/* Adds the counts of a life that has ended. */
static void end_life(unsigned i)
{
	unsigned long calls = calls_of(i);

	account->calls += calls;
	account->errors += progress[i].errors < calls ? progress[i].errors : calls;
	account->digest = account->digest * 31 + progress[i].digest;
	account->roots += progress[i].root == IS_ROOT;
	memset(&progress[i], 0, sizeof(progress[i]));
}

static void start(unsigned i)
{
	uint64_t seed = (uint64_t)next(&account->lives_random) << 32 | i;
	pid_t child;

	fflush(stdout);
	/* A privileged worker may have removed the other workers' access to their root, or mounted it read-only. */
	if (mount(NULL, FOLDER, NULL, MS_REMOUNT, NULL) < 0 || chmod(FOLDER, 0777) < 0)
		die(FOLDER);
	end_life(i);
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		munmap(account, sizeof(*account));
		progress[i].pid = getpid();
		worker(seed, &progress[i], progress, (unsigned)settings.workers, (unsigned)settings.life,
		       settings.trace ? fcntl(2, F_DUPFD, 40) : -1);
	}
	pids[i] = child;
	idle[i] = 0;
	account->lives++;
}

static unsigned long calls_made(void)
{
	unsigned long sum = account->calls;

	for (unsigned i = 0; i < settings.workers; i++)
		sum += calls_of(i);
	return sum;
}

static void tick(const sigset_t *child_ended)
{
	const struct timespec some = { 0, TICK_NS };
	int late = sigtimedwait(child_ended, NULL, &some) < 0, status;
	pid_t dead;

	while ((dead = waitpid(-1, &status, WNOHANG)) > 0) {
		/* This worker lets itself be traced: it has stopped. */
		if (WIFSTOPPED(status))
			kill(dead, SIGKILL);
		for (unsigned i = 0; !WIFSTOPPED(status) && i < settings.workers; i++)
			if (pids[i] == dead)
				start(i);
	}
	for (unsigned i = 0; late && i < settings.workers; i++) {
		idle[i] = seen[i] == progress[i].calls ? idle[i] + 1 : 0;
		seen[i] = progress[i].calls;
		if (idle[i] > PATIENCE) {
			account->stuck++;
			idle[i] = 0;
			kill(pids[i], SIGKILL);
		}
	}
}

/* Reports a process that does not end although it was killed, which is an error of the kernel. */
static void survivor(const char *pid)
{
	static const char *const files[] = { "status", "syscall", "wchan" };
	char path[64], text[1024];

	printf("fuzz: process %s does not end\n", pid);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd;
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (n > 0)
			printf("%.*s\n", (int)n, text);
	}
	exit(1);
}

/* Ends every process except init, this one and those in `kept`. Returns how many there were. */
static unsigned end_others(int last)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	unsigned found = 0;

	if (!proc)
		die("/proc");
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 1 || pid == getpid() || pid == kept[0] || pid == kept[1])
			continue;
		found++;
		if (last)
			survivor(entry->d_name);
		kill(pid, SIGKILL);
	}
	closedir(proc);
	return found;
}

static void remove_objects(void)
{
	for (int slot = 0; slot < SLOTS; slot++) {
		struct semid_ds sem;
		struct shmid_ds shm;
		struct msqid_ds msg;
		union {
			struct semid_ds *set;
		} result = { .set = &sem };
		int id = semctl(slot, 0, SEM_STAT, result);

		if (id >= 0)
			semctl(id, 0, IPC_RMID);
		id = shmctl(slot, SHM_STAT, &shm);
		if (id >= 0)
			shmctl(id, IPC_RMID, NULL);
		id = msgctl(slot, MSG_STAT, &msg);
		if (id >= 0)
			msgctl(id, IPC_RMID, NULL);
	}
}

/* Makes the workers' root and the files that their paths name. */
static void make_root(void)
{
	if (mkdir(FOLDER, 0777) < 0 || mount("none", FOLDER, "tmpfs", 0, NULL) < 0 || mkdir(FOLDER "/dev", 0755) < 0 ||
	    mkdir(FOLDER "/proc", 0755) < 0 || mkdir(FOLDER "/tmp", 0777) < 0 || symlink("/", FOLDER FOLDER) < 0 ||
	    mount("none", FOLDER "/dev", "devtmpfs", 0, NULL) < 0 ||
	    mount("none", FOLDER "/proc", "proc", 0, NULL) < 0 ||
	    mount("none", FOLDER "/dev/pts", "devpts", 0, NULL) < 0)
		die(FOLDER);
}

/* Unmounts the last file system mounted in the workers' root, or the root itself. Returns whether there was one. */
static int unmount_one(void)
{
	FILE *mounts = setmntent("/proc/mounts", "r");
	char path[256] = "";
	const struct mntent *entry;

	if (!mounts)
		die("/proc/mounts");
	while ((entry = getmntent(mounts)))
		if (strncmp(entry->mnt_dir, FOLDER, strlen(FOLDER)) == 0)
			snprintf(path, sizeof(path), "%s", entry->mnt_dir);
	endmntent(mounts);
	if (path[0] && umount(path) < 0)
		die(path);
	return path[0] != 0;
}

/* Removes what workers wrote to the RAM disks. */
static void empty_disks(void)
{
	for (unsigned n = 0; n < 16; n++) {
		static const char path[] = FOLDER "-disk";
		int fd = mknod(path, S_IFBLK | 0600, makedev(1, n)) < 0 ? -1 : open(path, O_RDONLY);

		if (fd < 0 || ioctl(fd, BLKFLSBUF, 0) < 0 || close(fd) < 0 || unlink(path) < 0)
			die(path);
	}
}

/* Restores the program's own name. A privileged worker can reach it, although it is not in the worker's root. */
static void restore_program(void)
{
	static const char path[] = "/proc/self/exe";
	char names[1024];
	ssize_t size;

	if (chown(path, 0, 0) < 0 || chmod(path, 0755) < 0)
		die(path);
	size = listxattr(path, names, sizeof(names));
	for (const char *name = names; size > 0 && name < names + size; name += strlen(name) + 1)
		removexattr(path, name);
}

static void clean(void)
{
	const struct timespec some = { 0, TICK_NS };

	/* init reaps the processes that are not this process's children. */
	for (unsigned tries = 0; end_others(tries == TRIES); tries++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nanosleep(&some, NULL);
	}
	remove_objects();
	while (unmount_one())
		;
	rmdir(FOLDER);
	empty_disks();
	restore_program();
}

static void conduct(unsigned long calls)
{
	unsigned long goal = calls_made() + calls;
	sigset_t child_ended;

	clean();
	make_root();
	sigemptyset(&child_ended);
	sigaddset(&child_ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ended, NULL);
	for (unsigned i = 0; i < settings.workers; i++)
		start(i);
	while (calls_made() < goal)
		tick(&child_ended);
	clean();
	for (unsigned i = 0; i < settings.workers; i++)
		end_life(i);
	exit(0);
}

static void round_of(unsigned long calls)
{
	pid_t conductor = fork();
	int status;

	if (conductor < 0)
		die("fork");
	if (conductor == 0)
		conduct(calls);
	if (waitpid(conductor, &status, 0) < 0)
		die("waitpid");
	if (status) {
		fprintf(stderr, "fuzz: a round ended with %#x\n", (unsigned)status);
		exit(1);
	}
}

static const char *const fields[] = { "\npage_table ", "\nanonymous ", "\ncache ", "\nkmalloc_objects ",
				      "\nkmalloc_bytes " };

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static void take_stock(unsigned long stock[FIELDS])
{
	static char text[2048];
	int fd = open("/proc/frames", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		die("/proc/frames");
	close(fd);
	text[n] = '\0';
	for (size_t i = 0; i < FIELDS; i++) {
		const char *at = strstr(text, fields[i]);

		if (!at) {
			fprintf(stderr, "fuzz: /proc/frames has no field%s\n", fields[i]);
			exit(2);
		}
		stock[i] = strtoul(at + strlen(fields[i]), NULL, 10);
	}
}

static void *shared(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		die("mmap");
	return pages;
}

int main(int argc, char **argv)
{
	unsigned long before[FIELDS], after[FIELDS], warm;
	int bad = 0;

	for (int i = 1; i < argc; i++)
		if (parse(argv[i]) < 0)
			return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	account = shared(sizeof(*account));
	progress = shared(WORKERS_MOST * sizeof(*progress));
	account->lives_random.state = settings.seed;
	kept[0] = getpid();
	kept[1] = getppid();
	printf("fuzz: seed %lu, %u calls of the table, %lu workers\n", settings.seed, fuzz_call_count, settings.workers);
	/* The first rounds fill the kernel's caches, and this program's own pages. */
	round_of(1000);
	round_of(1000);
	take_stock(before);
	take_stock(before);
	warm = account->calls;
	round_of(settings.calls);
	take_stock(after);
	printf("fuzz: seed %lu, %lu calls, %lu errors in all, %lu processes, %lu stuck, digest %08lx\n", settings.seed,
	       account->calls - warm, account->errors, account->lives, account->stuck, account->digest);
	if (account->roots)
		printf("fuzz: a worker without privilege became root\n");
	bad = account->roots != 0;
	for (size_t i = 0; i < FIELDS; i++) {
		if (after[i] == before[i])
			continue;
		printf("fuzz: %s: %lu, not %lu\n", fields[i] + 1, after[i], before[i]);
		bad = 1;
	}
	return bad;
}
