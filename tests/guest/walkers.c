// SPDX-License-Identifier: GPL-2.0
/*
 * Those who walk page frames see destinations between copy and move, with foliolift's record in them (H5): compaction
 * of both nodes, readers of /proc/kpageflags and /proc/kpagecount and of the idle bitmap, while large batches move
 * under an engine that takes its time.
 */
#include "lib/mem.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;
static atomic_ulong walks[3];

static void *compact(void *arg)
{
	(void)arg;
	on_cpu(1);
	while (!atomic_load(&stop)) {
		write_file("/proc/sys/vm/compact_memory", "1");
		atomic_fetch_add(&walks[0], 1);
	}
	return NULL;
}

static void *read_all(void *arg)
{
	static const char *const files[] = { "/proc/kpageflags", "/proc/kpagecount",
					     "/sys/kernel/mm/page_idle/bitmap" };
	static char buf[1 << 18];

	(void)arg;
	on_cpu(2);
	while (!atomic_load(&stop)) {
		size_t i;

		for (i = 0; i < 3; i++) {
			int fd = open(files[i], O_RDONLY | O_CLOEXEC);

			while (fd >= 0 && !atomic_load(&stop) && read(fd, buf, sizeof(buf)) > 0)
				;
			if (fd >= 0)
				close(fd);
		}
		atomic_fetch_add(&walks[1], 1);
	}
	return NULL;
}

static void test(void)
{
	size_t small = 1500 * PAGE, huge = 6 * HUGE;
	pthread_t threads[2];
	uint64_t seed = rnd();
	unsigned int i, bad = 0;
	long failed = 0;
	char *p, *q;

	lift_begin();
	if (lift_engine() && !strcmp(lift_engine(), "test"))
		tester_put("delay_us", "3000");
	alloc_on(0);
	p = map_anon(small, 0);
	q = map_anon(huge, 1);
	fill(p, small, seed);
	fill(q, huge, seed + 1);
	alloc_on(-1);
	if (pthread_create(&threads[0], NULL, compact, NULL) ||
	    pthread_create(&threads[1], NULL, read_all, NULL))
		fatal("threads can be had");
	on_cpu(0);
	for (i = 0; i < rounds(12); i++) {
		failed += move(p, small, PAGE, !(i & 1)) != 0;
		failed += move(q, huge, HUGE, !(i & 1)) != 0;
		bad += check(p, small, seed) + check(q, huge, seed + 1);
	}
	atomic_store(&stop, 1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	diag("%lu compactions, %lu rounds of reading, %ld moves did not move all",
	     atomic_load(&walks[0]), atomic_load(&walks[1]), failed);
	is(bad, 0, "no page differs");
	ok(atomic_load(&walks[0]) > 0, "compaction ran");
	/* compaction isolates pages for a moment, which is a reason to fail, but not for all */
	move(p, small, PAGE, 1);
	move(q, huge, HUGE, 1);
	is(on_node(p, small, 1) + on_node(q, huge, 1), (small + huge) / PAGE,
	   "left alone, all pages move");
	munmap(p, small);
	munmap(q, huge);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("walkers", 90, test);
}
