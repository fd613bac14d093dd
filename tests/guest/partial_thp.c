// SPDX-License-Identifier: GPL-2.0
/*
 * Scenario 3: THPs of which parts are unmapped, met by asynchronous compaction and by moves. They are split on the
 * way; no folio may be left on a list (the last checks of every test), nothing may be lost, and what is told to have
 * moved has.
 */
#include "lib/mem.h"

#define THPS 48

static uint64_t seed;

/* THPs with holes: of each every second of 8 pages, or the first half, or all but one page. */
static int has(size_t thp, size_t page)
{
	switch (thp % 3) {
	case 0:
		return page % 2;
	case 1:
		return page >= 256;
	default:
		return page == 17;
	}
}

static char *holes(int node)
{
	char *p;
	size_t i, k;

	alloc_on(node);
	p = map_anon(THPS * HUGE, 1);
	fill(p, THPS * HUGE, ++seed);
	alloc_on(-1);
	for (i = 0; i < THPS; i++)
		for (k = 0; k < 512; k++)
			if (!has(i, k))
				madvise(p + i * HUGE + k * PAGE, PAGE, MADV_DONTNEED);
	return p;
}

/* Pages that differ or, with @node >= 0, are elsewhere */
static size_t wrong(char *p, int node)
{
	static int status[512];
	size_t i, k, bad = 0;

	for (i = 0; i < THPS; i++) {
		move_status(0, p + i * HUGE, HUGE, PAGE, -1, 0, status);
		for (k = 0; k < 512; k++) {
			if (!has(i, k))
				continue;
			bad += node >= 0 && status[k] != node;
			bad += check_page(p + i * HUGE + k * PAGE, seed, i * 512 + k) >= 0;
		}
	}
	return bad;
}

static void test_moves(void)
{
	struct migration_counts c = migration_counts();
	char *p = holes(0);
	int round;

	for (round = 0; round < 2; round++) {
		is(move(p, THPS * HUGE, PAGE, 1), 0, "moves: move_pages to node 1");
		is(wrong(p, 1), 0, "moves: all pages are there, none differs");
		is(move(p, THPS * HUGE, PAGE, 0), 0, "moves: move_pages to node 0");
		is(wrong(p, 0), 0, "moves: all pages are back, none differs");
	}
	c = migration_since(c);
	ok(c.thp_split > 0, "moves: THPs were split");
	munmap(p, THPS * HUGE);
}

/*
 * A fragmented node and a demand for huge pages: each fault compacts directly and asynchronously, and meets the
 * partially unmapped THPs.
 */
static void test_compaction(void)
{
	long long stalls = vmstat("compact_stall"), isolated = vmstat("compact_isolated"),
		  moved = vmstat("pgmigrate_success");
	char *p = holes(0), *want, *bulk, *filler;
	size_t room = 256 * MB, rest, i, bad = 0;
	unsigned int round;

	put("/sys/kernel/mm/transparent_hugepage/defrag", "always");
	/* take what is free, the last 256 MB in small pages, of which every second is given back */
	rest = (node_kb(0, "MemFree") - 300 * 1024) * KB & -HUGE;
	bulk = map_at(rest, HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	madvise(bulk, rest, MADV_HUGEPAGE);
	filler = map_at(room, HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	madvise(filler, room, MADV_NOHUGEPAGE);
	alloc_on(0);
	madvise(bulk, rest, 23 /* MADV_POPULATE_WRITE */);
	for (i = 0; i < room; i += PAGE)
		*(volatile uint64_t *)(filler + i) = i ^ seed;
	for (i = 0; i < room; i += 2 * PAGE)
		madvise(filler + i, PAGE, MADV_DONTNEED);
	for (round = 0; round < rounds(2); round++) {
		want = map_anon(60 * HUGE, 1);
		for (i = 0; i < 60 * HUGE; i += PAGE)
			*(volatile uint64_t *)(want + i) = i;
		for (i = 0; i < 60 * HUGE; i += PAGE)
			bad += *(volatile uint64_t *)(want + i) != i;
		munmap(want, 60 * HUGE);
		write_file("/proc/sys/vm/compact_memory", "1");
	}
	alloc_on(-1);
	for (i = PAGE; i < room; i += 2 * PAGE)
		bad += *(volatile uint64_t *)(filler + i) != (i ^ seed);
	diag("%lld direct compactions isolated %lld pages, %lld moved",
	     vmstat("compact_stall") - stalls, vmstat("compact_isolated") - isolated,
	     vmstat("pgmigrate_success") - moved);
	is(bad, 0, "compaction: nothing of other memory is lost");
	is(wrong(p, -1), 0, "compaction: nothing of the THPs is lost");
	ok(vmstat("compact_stall") > stalls, "compaction: it was called for directly");
	ok(vmstat("pgmigrate_success") > moved, "compaction: pages did move");
	munmap(bulk, rest);
	munmap(filler, room);
	munmap(p, THPS * HUGE);
	put("/sys/kernel/mm/transparent_hugepage/defrag", "madvise");
}

static void test(void)
{
	lift_begin();
	seed = rnd();
	test_moves();
	test_compaction();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("partial_thp", 90, test);
}
