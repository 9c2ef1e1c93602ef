/* fuzz: random system calls from several processes.
 *
 *   fuzz [seed=<n>] [calls=<n>] [workers=<n>] [life=<n>] [trace=1]
 *
 * `workers` processes make random calls from the kernel's own table, with good and bad pointers, lengths, descriptors
 * and flags; one that dies, or no longer gets on, is replaced, and after `life` calls each is. When `calls` are made,
 * all processes and files and System V objects of theirs are removed, and the kernel must hold as many frames and
 * objects as before (/proc/frames). The same seed gives the same run: on a deterministic machine, to the cycle.
 *
 * For a kernel under test only: it ends every process but init and those that it comes from. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* System V slots that are looked through. */
#define SLOTS 256

/* A worker that made no call in this many ticks is ended. */
#define PATIENCE 4
#define TICK_NS 5000000

/* Ticks that killed processes have for their end. */
#define TRIES 40

struct settings {
	unsigned long seed, calls, workers, life, trace;
};

static struct settings settings = { 1, 20000, 4, 400, 0 };
static struct progress *progress;
static pid_t pids[WORKERS_MOST];
static uint32_t seen[WORKERS_MOST], idle[WORKERS_MOST];
static unsigned long lives, stuck;
static struct sequence lives_random;

static void die(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(2);
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
		char *end;

		if (strncmp(word, words[i].name, n) != 0)
			continue;
		*words[i].value = strtoul(word + n, &end, 10);
		if (word[n] && !*end && *words[i].value >= words[i].least && *words[i].value <= words[i].most)
			return 0;
		fprintf(stderr, "fuzz: %s: allowed are %lu to %lu\n", word, words[i].least, words[i].most);
		return -1;
	}
	fprintf(stderr, "fuzz: unknown word '%s': allowed are seed=, calls=, workers=, life=, trace=\n", word);
	return -1;
}

static void start(unsigned i)
{
	uint64_t seed = (uint64_t)next(&lives_random) << 32 | i;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		progress[i].pid = getpid();
		worker(seed, &progress[i], progress, (unsigned)settings.workers, (unsigned)settings.life,
		       settings.trace ? fcntl(2, F_DUPFD, 40) : -1);
	}
	pids[i] = child;
	idle[i] = 0;
	lives++;
}

static unsigned long made(void)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < settings.workers; i++)
		sum += progress[i].calls;
	return sum;
}

static void tick(const sigset_t *child_ended)
{
	const struct timespec some = { 0, TICK_NS };
	int late = sigtimedwait(child_ended, NULL, &some) < 0;
	pid_t dead;

	while ((dead = waitpid(-1, NULL, WNOHANG)) > 0)
		for (unsigned i = 0; i < settings.workers; i++)
			if (pids[i] == dead)
				start(i);
	for (unsigned i = 0; late && i < settings.workers; i++) {
		idle[i] = seen[i] == progress[i].calls ? idle[i] + 1 : 0;
		seen[i] = progress[i].calls;
		if (idle[i] > PATIENCE) {
			stuck++;
			idle[i] = 0;
			kill(pids[i], SIGKILL);
		}
	}
}

/* A process that does not end although it was killed: a fault of the kernel's. */
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

/* Ends every process but init, this one and its parent. Returns how many there were. */
static unsigned end_others(int last)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	unsigned found = 0;

	if (!proc)
		die("/proc");
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 1 || pid == getpid() || pid == getppid())
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

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *where)
{
	(void)s;
	(void)where;
	if (strcmp(path, "/tmp") == 0)
		return 0;
	if (kind == FTW_DP || kind == FTW_D || kind == FTW_DNR)
		rmdir(path);
	else
		unlink(path);
	return 0;
}

/* Where workers leave names: those with privileges go up by ".." and make names in the root, too. */
static const char *const littered[] = { "/tmp", "/none", "/a", "/b", "/c", "/d", "/e", "/f", "/fuzz" };

static void clean(void)
{
	const struct timespec some = { 0, TICK_NS };

	/* init buries what was not this process's child. */
	for (unsigned tries = 0; end_others(tries == TRIES); tries++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nanosleep(&some, NULL);
	}
	remove_objects();
	for (size_t i = 0; i < sizeof(littered) / sizeof(littered[0]); i++)
		nftw(littered[i], remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void round_of(unsigned long calls)
{
	unsigned long goal = made() + calls;
	sigset_t child_ended;

	if (mkdir(FOLDER, 0777) < 0 || chmod(FOLDER, 0777) < 0)
		die(FOLDER);
	sigemptyset(&child_ended);
	sigaddset(&child_ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child_ended, NULL);
	for (unsigned i = 0; i < settings.workers; i++)
		start(i);
	while (made() < goal)
		tick(&child_ended);
	clean();
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

int main(int argc, char **argv)
{
	unsigned long before[FIELDS], after[FIELDS], warm, errors = 0, digest = 0;
	int bad = 0;

	for (int i = 1; i < argc; i++)
		if (parse(argv[i]) < 0)
			return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED)
		die("mmap");
	lives_random.state = settings.seed;
	printf("fuzz: seed %lu, %u calls of the table, %lu workers\n", settings.seed, fuzz_call_count, settings.workers);
	/* The first round fills what the kernel keeps, and this program's own pages. */
	clean();
	round_of(1000);
	round_of(1000);
	take_stock(before);
	take_stock(before);
	warm = made();
	round_of(settings.calls);
	take_stock(after);
	for (unsigned i = 0; i < settings.workers; i++) {
		errors += progress[i].errors;
		digest = digest * 31 + progress[i].digest;
	}
	printf("fuzz: seed %lu, %lu calls, %lu errors in all, %lu processes, %lu stuck, digest %08lx\n", settings.seed,
	       made() - warm, errors, lives, stuck, digest);
	for (size_t i = 0; i < FIELDS; i++) {
		if (after[i] == before[i])
			continue;
		printf("fuzz: %s: %lu, not %lu\n", fields[i] + 1, after[i], before[i]);
		bad = 1;
	}
	return bad;
}
