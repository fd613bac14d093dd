// SPDX-License-Identifier: GPL-2.0
/*
 * No memory for the copy stage's list of segments: the move step copies everything, as if the stage did not exist,
 * and that is counted. Then allocations of the migrating task fail at random. Needs fault injection, which the
 * debug kernel has.
 */
#include "lib/mem.h"

#define FAILSLAB "/sys/kernel/debug/failslab/"

static void failslab(int probability)
{
	put(FAILSLAB "task-filter", "Y");
	put(FAILSLAB "probability", "%d", probability);
	put(FAILSLAB "interval", "1");
	put(FAILSLAB "times", "-1");
	put(FAILSLAB "space", "0");
	put(FAILSLAB "verbose", "0");
	/* 1: only allocations that must not wait fail, which is what the copy stage does */
	put(FAILSLAB "ignore-gfp-wait", "1");
	put("/proc/self/make-it-fail", probability ? "1" : "0");
}

static void try(const char *engine, int huge)
{
	size_t step = huge ? HUGE : PAGE, n = huge ? 4 : 100, len = n * step;
	struct migration_counts m;
	struct lift_counts c;
	uint64_t seed = rnd();
	unsigned int i, bad = 0;
	char what[64], *p;
	long rc;

	snprintf(what, sizeof(what), "%s, %s", engine, huge ? "THP" : "4 KB");
	lift_set(engine);
	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, seed);
	alloc_on(-1);

	c = lift_counts();
	m = migration_counts();
	failslab(100);
	rc = move(p, len, step, 1);
	failslab(0);
	c = lift_since(c);
	m = migration_since(m);
	is(rc, 0, "%s: move_pages without memory for the list", what);
	is(on_node(p, len, 1), len / PAGE, "%s: all pages moved", what);
	is(check(p, len, seed), 0, "%s: no page differs", what);
	is(c.nomem, n, "%s: fallback_nomem", what);
	is(c.batches, 0, "%s: the engine was not called", what);
	is(m.success, len / PAGE, "%s: pgmigrate_success", what);
	is(m.fail, 0, "%s: pgmigrate_fail", what);

	for (i = 0; i < rounds(10); i++) {
		fill(p, len, ++seed);
		failslab(40);
		rc = move(p, len, step, i & 1);
		failslab(0);
		bad += check(p, len, seed);
		bad += !rc && on_node(p, len, i & 1) != len / PAGE;
	}
	is(bad, 0, "%s: nothing is lost when some allocations fail", what);
	munmap(p, len);
}

static void test(void)
{
	lift_begin();
	if (!exists(FAILSLAB "probability")) {
		skip("allocation failure", "this kernel has no fault injection");
		return;
	}
	try("cpu", 0);
	try("cpu", 1);
	try("mt", 0);
	try("mt", 1);
	try("test", 0);
	try("test", 1);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("nomem", 60, test);
}
