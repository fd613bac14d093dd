// SPDX-License-Identifier: GPL-2.0
/*
 * Scenario 4: memory goes offline while folios migrate. Blocks of node 1 are taken offline and brought back while
 * threads move memory to that node and back. A block that cannot be emptied is no failure (the kernel's own memory
 * is there, too), lost contents are. Whoever looks for pages to empty walks page frames and meets destinations in
 * mid-migration (H5).
 */
#include "lib/mem.h"

#include <pthread.h>
#include <stdatomic.h>

#define NODE1 "/sys/devices/system/node/node1/"

static atomic_int stop;

struct mover {
	pthread_t thread;
	int cpu, huge;
	char *p;
	size_t len;
	unsigned long moves, bad;
};

static void *mover(void *arg)
{
	struct mover *m = arg;
	uint64_t seed = mix(tap_seed + m->cpu);

	on_cpu(m->cpu);
	while (!atomic_load(&stop)) {
		if (m->moves % 4 == 0)
			fill(m->p, m->len, ++seed);
		move(m->p, m->len, m->huge ? HUGE : PAGE, !(m->moves & 1));
		m->bad += check(m->p, m->len, seed);
		m->moves++;
	}
	return NULL;
}

/* Offlining tries for ever; a signal ends it. @seconds for a block. */
static int set_state(int block, const char *state, int seconds)
{
	char path[96];
	int status, i;
	pid_t pid;

	snprintf(path, sizeof(path), "/sys/devices/system/memory/memory%d/state", block);
	pid = fork();
	if (!pid)
		_exit(write_file(path, state));
	for (i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return EINTR;
}

static void test(void)
{
	struct mover m[3];
	int blocks[64], n = 0, i, gone = 0, kept = 0, odd = 0, back = 0;
	unsigned long moves = 0, bad = 0;
	unsigned int round;
	struct dirent *d;
	DIR *dir;

	lift_begin();
	dir = opendir(NODE1);
	while (dir && (d = readdir(dir)) && n < 64)
		if (sscanf(d->d_name, "memory%d", &blocks[n]) == 1)
			n++;
	if (dir)
		closedir(dir);
	if (!n) {
		skip("offlining", "this kernel cannot take memory offline");
		return;
	}
	for (i = 0; i < 3; i++) {
		m[i] = (struct mover){ .cpu = i,
				       .huge = i == 1,
				       .len = i == 1 ? 8 * HUGE : 700 * PAGE };
		m[i].p = map_anon(m[i].len, m[i].huge);
		if (pthread_create(&m[i].thread, NULL, mover, &m[i]))
			fatal("a thread can be had");
	}
	on_cpu(3);
	for (round = 0; round < rounds(1); round++)
		for (i = 0; i < n; i++) {
			int err = set_state(blocks[i], "offline", 2 * slowness());

			gone += !err;
			/* in use for something that cannot move; or a block with a hole, EINVAL */
			if (err == EBUSY || err == EINTR || err == EAGAIN || err == EINVAL)
				kept++;
			else if (err)
				odd = err;
			if (!err && set_state(blocks[i], "online", 60)) {
				diag("block %d does not come back", blocks[i]);
				back++;
			}
		}
	atomic_store(&stop, 1);
	for (i = 0; i < 3; i++) {
		pthread_join(m[i].thread, NULL);
		moves += m[i].moves;
		bad += m[i].bad;
	}
	diag("%d blocks went offline, %d could not, while memory moved %lu times", gone, kept,
	     moves);
	is(bad, 0, "no page differs");
	is(odd, 0, "offlining fails with EBUSY, EAGAIN, EINVAL or not at all");
	is(back, 0, "every block comes back");
	ok(moves > 10, "memory moved meanwhile");
	ok(gone > 0, "some blocks went offline");
	for (i = 0; i < 3; i++)
		munmap(m[i].p, m[i].len);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("offline", 120, test);
}
