// SPDX-License-Identifier: GPL-2.0
/*
 * Nothing is copied before the flush that covers it (H2): threads on the other CPUs write every page of a range
 * over and over while it moves to and fro. Each thread has a word of its own in each page and remembers what it
 * wrote there last, so a write that went to a page already copied is found the next time it comes by.
 *
 * Between unmapping and flush a writer goes on through its TLB without noticing. That is the time that counts,
 * so batches are as large as they get and the range is not more than the writers' TLBs hold. Where a mapping is
 * flushed at once (2 MB entries) the test is one of move and remap under fire.
 */
#include "lib/mem.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_WRITERS 3

struct writer {
	pthread_t thread;
	int number;
	uint64_t *expect; /* one for each page */
	uint64_t sweeps, lost, lost_page, lost_got, lost_want;
};

static char *area;
static size_t nr_pages;
static atomic_int stop;

static void *writer(void *arg)
{
	struct writer *w = arg;
	size_t i;

	on_cpu(1 + w->number);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		for (i = 0; i < nr_pages; i++) {
			volatile uint64_t *word =
				(uint64_t *)(area + i * PAGE) + w->number + (i % 7) * 70;
			uint64_t got = *word;

			if (got != w->expect[i]) {
				if (!w->lost++) {
					w->lost_page = i;
					w->lost_got = got;
					w->lost_want = w->expect[i];
				}
				w->expect[i] = got;
			}
			*word = ++w->expect[i];
		}
		w->sweeps++;
	}
	return NULL;
}

static void try(const char *what, size_t len, size_t step, unsigned int moves)
{
	static struct writer writers[MAX_WRITERS];
	int n = nr_cpus() - 1 < MAX_WRITERS ? nr_cpus() - 1 : MAX_WRITERS, i;
	struct migration_counts before, c;
	struct lift_counts lift;
	uint64_t sweeps = 0, lost = 0;
	unsigned int m;
	long failed = 0;

	if (n < 1) {
		skip(what, "one CPU only");
		return;
	}
	nr_pages = len / PAGE;
	memset(area, 0, len);
	stop = 0;
	for (i = 0; i < n; i++) {
		memset(&writers[i], 0, sizeof(writers[i]));
		writers[i].number = i;
		writers[i].expect = calloc(nr_pages, 8);
		if (!writers[i].expect ||
		    pthread_create(&writers[i].thread, NULL, writer, &writers[i]))
			fatal("%s: a writer can be started", what);
	}
	on_cpu(0);
	before = migration_counts();
	lift = lift_counts();
	for (m = 0; m < moves; m++) {
		long rc = move(area, len, step, !(m & 1));

		failed += rc < 0 ? (long)nr_pages : rc;
	}
	c = migration_since(before);
	lift = lift_since(lift);
	stop = 1;
	for (i = 0; i < n; i++) {
		pthread_join(writers[i].thread, NULL);
		sweeps += writers[i].sweeps;
		lost += writers[i].lost;
		if (writers[i].lost)
			diag("%s: writer %d lost %" PRIu64 ", the first in page %" PRIu64
			     ": it reads %" PRIu64 ", was %" PRIu64,
			     what, i, writers[i].lost, writers[i].lost_page, writers[i].lost_got,
			     writers[i].lost_want);
		free(writers[i].expect);
	}
	diag("%s: %lld pages moved, %ld folios failed, the engine copied %lld, the writers came round %" PRIu64
	     " times",
	     what, c.success, failed, lift.pages, sweeps);
	is(lost, 0, "%s: no write is lost", what);
	ok(c.success > (long long)(moves * nr_pages / 2), "%s: pages did move", what);
	/* shmem is never copied early */
	if (lift_engine() && strcmp(what, "shmem"))
		ok(lift.pages > c.success / 2, "%s: copied by the engine", what);
}

static void test(void)
{
	int fd;

	lift_begin();

	alloc_on(0);
	area = map_anon(512 * PAGE, 0);
	try("4 KB", 512 * PAGE, PAGE, rounds(60));
	munmap(area, 512 * PAGE);

	area = map_shmem(512 * PAGE, 0, &fd);
	try("shmem", 512 * PAGE, PAGE, rounds(30));
	munmap(area, 512 * PAGE);
	close(fd);

	area = map_anon(4 * HUGE, 1);
	try("THP", 4 * HUGE, HUGE, rounds(20));
	munmap(area, 4 * HUGE);

	lift_set(NULL);
}

int main(void)
{
	return tap_main("writers", 90, test);
}
