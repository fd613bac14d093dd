// SPDX-License-Identifier: GPL-2.0
/*
 * A node without room: move_pages gives up with ENOMEM in the middle of a list, what had been unmapped by then is
 * moved, the rest is where it was, nothing is lost and nobody is killed. THPs that do not fit are split.
 */
#include "lib/mem.h"

#define LEAVE (24 * MB) /* free on node 1, above what the kernel keeps to itself */

static char *filler;
static size_t filled, room;

static long long kept_kb(void)
{
	char line[128];
	long long v, pages = 0, node = -1;
	FILE *f = fopen("/proc/zoneinfo", "re");

	/* the sum of the high watermarks of node 1: reclaim leaves more than that alone */
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %lld,", &v) == 1)
			node = v;
		if (node == 1 && sscanf(line, " high %lld", &v) == 1)
			pages += v;
	}
	if (f)
		fclose(f);
	return pages * 4;
}

static void fill_node(void)
{
	long long leave = kept_kb() + LEAVE / KB, free_kb = node_kb(1, "MemFree");

	room = node_kb(1, "MemTotal") * KB & -HUGE;
	filler = map_at(room, HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	madvise(filler, room, MADV_HUGEPAGE);
	alloc_on(1);
	while ((free_kb = node_kb(1, "MemFree")) > leave) {
		size_t n = (free_kb - leave) * KB / 2 & -HUGE;

		n = n < HUGE ? HUGE : n;
		if (filled + n > room || madvise(filler + filled, n, 23 /* MADV_POPULATE_WRITE */))
			break;
		filled += n;
	}
	alloc_on(-1);
	diag("node 1 has %lld KB free, %lld KB of which it keeps", node_kb(1, "MemFree"),
	     kept_kb());
}

static void try(const char *what, int huge)
{
	size_t len = 64 * MB, step = huge ? HUGE : PAGE, there;
	struct migration_counts c;
	uint64_t seed = rnd();
	long rc;
	char *p;

	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, seed);
	alloc_on(-1);
	c = migration_counts();
	rc = move(p, len, step, 1);
	c = migration_since(c);
	there = on_node(p, len, 1);
	diag("%s: move_pages gave %ld, %zu of %zu pages moved, pgmigrate_success %lld pgmigrate_fail %lld"
	     " thp_migration_split %lld",
	     what, rc, there, len / PAGE, c.success, c.fail, c.thp_split);
	ok(rc != 0, "%s: move_pages tells that not all fit", what);
	ok(there > 0 && there < len / PAGE, "%s: some moved", what);
	is(on_node(p, len, 0), len / PAGE - there, "%s: all others are where they were", what);
	is(c.success, there, "%s: pgmigrate_success tells how many", what);
	ok(c.fail > 0, "%s: and pgmigrate_fail that some did not", what);
	is(check(p, len, seed), 0, "%s: no page differs", what);
	is(move(p, len, PAGE, 0), 0, "%s: all can go back", what);
	is(on_node(p, len, 0), len / PAGE, "%s: and do", what);
	is(check(p, len, seed), 0, "%s: no page differs then", what);
	munmap(p, len);
}

static void test(void)
{
	lift_begin();
	fill_node();
	try("4 KB", 0);
	try("THP", 1);
	munmap(filler, room);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("pressure", 90, test);
}
