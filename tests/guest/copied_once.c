// SPDX-License-Identifier: GPL-2.0
/*
 * A folio's contents are copied once, by whoever does it: a mark that is lost on its way to the move step costs a
 * second copy and no data, so nothing but a count of the copies tells. A probe on folio_mc_copy() counts.
 */
#include "lib/mem.h"

#define TRACING "/sys/kernel/tracing/"
#define PROBE "events/kprobes/foliolift_copies/enable"

static long long copies(void)
{
	char line[256], name[64];
	long long hits, found = -1;
	FILE *f = fopen(TRACING "kprobe_profile", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " %63s %lld", name, &hits) == 2 &&
		    !strcmp(name, "foliolift_copies"))
			found = hits;
	if (f)
		fclose(f);
	return found;
}

static void moves(const char *engine, const char *what, char *p, size_t len, size_t step,
		  size_t want)
{
	long long before;
	int node;

	for (node = 1; node >= 0; node--) {
		before = copies();
		is(move(p, len, step, node), 0, "%s: %s move to node %d", engine, what, node);
		is(copies() - before, want, "%s: %s are copied once each", engine, what);
	}
}

static void all(const char *engine)
{
	size_t n = 600, h = 6;
	uint64_t seed = rnd();
	char *small, *thps, *file;
	int fd;

	alloc_on(0);
	small = map_anon(n * PAGE, 0);
	thps = map_anon(h * HUGE, 1);
	file = map_shmem(n * PAGE, 0, &fd);
	fill(small, n * PAGE, seed);
	fill(thps, h * HUGE, seed + 1);
	fill(file, n * PAGE, seed + 2);
	alloc_on(-1);
	moves(engine, "small pages", small, n * PAGE, PAGE, n);
	moves(engine, "THPs", thps, h * HUGE, HUGE, h);
	moves(engine, "pages of a file", file, n * PAGE, PAGE, n);
	moves(engine, "single pages", small, PAGE, PAGE, 1);
	is(check(small, n * PAGE, seed) + check(thps, h * HUGE, seed + 1) +
		   check(file, n * PAGE, seed + 2),
	   0, "%s: no page differs", engine);
	munmap(small, n * PAGE);
	munmap(thps, h * HUGE);
	munmap(file, n * PAGE);
	close(fd);
}

static void test(void)
{
	lift_begin();
	if (write_file(TRACING "kprobe_events", "p:kprobes/foliolift_copies folio_mc_copy"))
		fatal("folio_mc_copy() can be probed");
	put(TRACING PROBE, "1");
	all(lift_engine() ? lift_engine() : "off");
	if (lift_present()) {
		lift_set("cpu");
		all("cpu");
		lift_set("test");
		all("test");
		/* what the engine fails to copy is copied by the move step, and also once */
		tester_put("fail_every", "3");
		tester_put("pending_segment", "7");
		all("test that fails");
	}
	put(TRACING PROBE, "0");
	write_file(TRACING "kprobe_events", "-:kprobes/foliolift_copies");
	lift_set(NULL);
}

int main(void)
{
	return tap_main("copied_once", 30, test);
}
