/* System V shared memory and message queues. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

static int id;
static volatile int *shared;

static int write_there(void *unused)
{
	(void)unused;
	shared[1000] = 77;
	return 0;
}

static unsigned long attachments(void)
{
	struct shmid_ds ds;

	MUST(shmctl(id, IPC_STAT, &ds));
	return ds.shm_nattch;
}

static void memory_is_shared(void)
{
	volatile int *again;

	id = (int)MUST(shmget(IPC_PRIVATE, 10000, IPC_CREAT | 0600));
	CHECK_EQUAL(attachments(), 0);
	shared = shmat(id, NULL, 0);
	CHECK(shared != (void *)-1);
	CHECK_EQUAL(shared[1000], 0);
	CHECK_EQUAL(test_in_child(write_there, NULL), 0);
	CHECK_EQUAL(shared[1000], 77);
	again = shmat(id, NULL, SHM_RDONLY);
	CHECK(again != (void *)-1 && again != shared);
	CHECK_EQUAL(again[1000], 77);
	CHECK_EQUAL(attachments(), 2);
	MUST(shmdt((const void *)again));
	CHECK_EQUAL(attachments(), 1);
	CHECK_ERROR(shmdt((const void *)again), EINVAL);
	MUST(shmctl(id, IPC_RMID, NULL));
	shared[0] = 5; /* a removed segment stays until it is detached */
	again = shmat(id, NULL, 0);
	CHECK(again != (void *)-1);
	CHECK_EQUAL(again[0], 5);
	MUST(shmdt((const void *)again));
	MUST(shmdt((const void *)shared));
	CHECK(shmat(id, NULL, 0) == (void *)-1 && errno == EINVAL);
}

static int write_read_only(void *unused)
{
	(void)unused;
	shared[0] = 1;
	return 0;
}

static void memory_arguments(void)
{
	struct shmid_ds ds;
	key_t key = 0x70780000 | (getpid() & 0xffff);

	CHECK_ERROR(shmget(IPC_PRIVATE, 0, 0600), EINVAL);
	CHECK_ERROR(shmget(key, 4096, 0), ENOENT);
	id = (int)MUST(shmget(key, 4096, IPC_CREAT | 0640));
	CHECK_EQUAL(shmget(key, 100, 0), id);
	CHECK_ERROR(shmget(key, 5000, 0), EINVAL);
	CHECK_ERROR(shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	MUST(shmctl(id, IPC_STAT, &ds));
	CHECK_EQUAL(ds.shm_segsz, 4096);
	CHECK_EQUAL(ds.shm_cpid, getpid());
	CHECK_EQUAL(ds.shm_perm.mode & 0777, 0640);
	shared = shmat(id, NULL, SHM_RDONLY);
	CHECK(shared != (void *)-1);
	CHECK_EQUAL(test_in_child(write_read_only, NULL), 1000 + 11);
	CHECK(shmat(id, (void *)0x1001, 0) == (void *)-1 && errno == EINVAL);
	MUST(shmctl(id, IPC_RMID, NULL));
}

struct message {
	long type;
	char text[16];
};

static void send(long type, const char *text)
{
	struct message m = { .type = type };

	strcpy(m.text, text);
	MUST(msgsnd(id, &m, strlen(text), 0));
}

static struct message got;

static ssize_t receive(long type, int flags)
{
	memset(&got, 0, sizeof(got));
	return msgrcv(id, &got, sizeof(got.text), type, flags | IPC_NOWAIT);
}

static void messages_by_type(void)
{
	id = (int)MUST(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
	send(3, "three");
	send(1, "one");
	send(2, "two");
	send(3, "again");
	CHECK_EQUAL(receive(2, 0), 3);
	CHECK_EQUAL(got.type, 2);
	CHECK_EQUAL(receive(-3, 0), 3);
	CHECK(strcmp(got.text, "one") == 0);
	CHECK_ERROR(receive(9, 0), ENOMSG);
	send(4, "four");
	CHECK_EQUAL(receive(3, MSG_EXCEPT), 4);
	CHECK_EQUAL(receive(0, 0), 5);
	CHECK(strcmp(got.text, "three") == 0);
	CHECK_ERROR(msgrcv(id, &got, 2, 0, 0), E2BIG);
	CHECK_EQUAL(msgrcv(id, &got, 2, 0, MSG_NOERROR), 2);
	CHECK_ERROR(receive(0, 0), ENOMSG);
	got.type = 0;
	CHECK_ERROR(msgsnd(id, &got, 1, 0), EINVAL);
	MUST(msgctl(id, IPC_RMID, NULL));
	CHECK_ERROR(receive(0, 0), EINVAL);
}

static int fill(void *unused)
{
	struct message m = { .type = 1 };

	(void)unused;
	for (int i = 0; i < 3000; i++) {
		m.text[0] = (char)i;
		if (msgsnd(id, &m, 16, 0))
			return errno;
	}
	return 0;
}

/* The child sleeps nowhere but in a send to the full queue. */
static int sleeps(pid_t child)
{
	char path[32], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
	file = fopen(path, "r");
	CHECK(file != NULL && fscanf(file, "%*d %*s %c", &state) == 1);
	fclose(file);
	return state == 'S';
}

static void a_full_queue_waits(void)
{
	struct msqid_ds ds;
	pid_t child;

	id = (int)MUST(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
	child = test_child(fill, NULL);
	for (int i = 0; i < 3000; i++) {
		CHECK_EQUAL(msgrcv(id, &got, 16, 0, 0), 16);
		CHECK_EQUAL(got.text[0], (char)i);
	}
	CHECK_EQUAL(test_wait(child), 0);
	MUST(msgctl(id, IPC_STAT, &ds));
	CHECK_EQUAL(ds.msg_qnum, 0);
	CHECK_EQUAL(ds.msg_lspid, child);
	child = test_child(fill, NULL);
	do {
		usleep(1000);
		MUST(msgctl(id, IPC_STAT, &ds));
	} while (ds.__msg_cbytes + 16 <= ds.msg_qbytes || !sleeps(child));
	MUST(msgctl(id, IPC_RMID, NULL));
	CHECK_EQUAL(test_wait(child), EIDRM);
}

static const struct test_case cases[] = {
	CASE(memory_is_shared), CASE(memory_arguments), CASE(messages_by_type), CASE(a_full_queue_waits),
};

TEST_MAIN("sysv", cases)
