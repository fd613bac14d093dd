// SPDX-License-Identifier: GPL-2.0
/*
 * Hugetlb pages keep their contents when move_pages moves them: private and shared mappings, destinations from
 * the pool and surplus ones, alone and in one list with other folios. They keep their own way: none is copied
 * by an engine. A destination of theirs carries flags in the field where foliolift keeps its mark (H5, H6;
 * scenario 5).
 */
#include "lib/mem.h"

#define POOL(node, file) "/sys/devices/system/node/node" #node "/hugepages/hugepages-2048kB/" file
#define OVERCOMMIT "/proc/sys/vm/nr_overcommit_hugepages"

static void pools(int on_0, int on_1, int overcommit)
{
	put(OVERCOMMIT, "%d", overcommit);
	put(POOL(0, "nr_hugepages"), "%d", on_0);
	put(POOL(1, "nr_hugepages"), "%d", on_1);
	if (get(POOL(0, "nr_hugepages")) != on_0 || get(POOL(1, "nr_hugepages")) != on_1)
		fatal("pools of %d and %d huge pages can be had", on_0, on_1);
}

static void pools_are(const char *what, int total)
{
	is(get(POOL(0, "nr_hugepages")) + get(POOL(1, "nr_hugepages")), total,
	   "%s: pages of the pools", what);
	is(get(POOL(0, "free_hugepages")) + get(POOL(1, "free_hugepages")), total,
	   "%s: all free again", what);
	is(get(POOL(0, "surplus_hugepages")) + get(POOL(1, "surplus_hugepages")), 0,
	   "%s: none is surplus", what);
}

static void try(const char *what, int flags, size_t len, int times, int anywhere)
{
	struct area a = { .what = what, .len = len, .step = HUGE, .huge = 1, .copied = 0 };

	a.p = map_at(len, HUGE, flags | MAP_HUGETLB | MAP_ANONYMOUS, -1);
	if (anywhere) {
		area_fill(&a);
		area_move(&a, 0);
	} else {
		alloc_on(0);
		area_fill(&a);
		alloc_on(-1);
	}
	area_to_and_fro(&a, times);
	munmap(a.p, len);
}

static void test_two_mappings(void)
{
	struct area a = { .what = "shared, mapped twice", .len = 4 * HUGE, .step = HUGE, .huge = 1 };
	int fd = memfd_create("huge", MFD_HUGETLB), status[4] = { 0 }, i, refused = 0;
	char *second;

	if (fd < 0 || ftruncate(fd, a.len))
		fatal("a memfd of huge pages can be had");
	alloc_on(0);
	a.p = map_at(a.len, HUGE, MAP_SHARED, fd);
	area_fill(&a);
	alloc_on(-1);
	second = map_at(a.len, HUGE, MAP_SHARED, fd);
	check(second, a.len, a.seed);
	move_status(0, a.p, a.len, HUGE, 1, MPOL_MF_MOVE, status);
	for (i = 0; i < 4; i++)
		refused += status[i] == -EACCES;
	is(refused, 4, "%s: MPOL_MF_MOVE leaves them where they are", a.what);
	a.flags = MPOL_MF_MOVE_ALL;
	area_to_and_fro(&a, 1);
	is(check(second, a.len, a.seed), 0, "%s: the other mapping agrees", a.what);
	munmap(second, a.len);
	munmap(a.p, a.len);
	close(fd);
}

/* hugetlb, THP and small pages in one call */
static void test_in_company(void)
{
	enum { HUGES = 3, SMALL = 200 };
	static void *pages[2 * HUGES + SMALL];
	static int nodes[2 * HUGES + SMALL], status[2 * HUGES + SMALL];
	char *tlb, *thp, *small;
	struct lift_counts before, c;
	uint64_t seed = rnd();
	int n, i, node;

	alloc_on(0);
	tlb = map_at(HUGES * HUGE, HUGE, MAP_PRIVATE | MAP_HUGETLB | MAP_ANONYMOUS, -1);
	thp = map_anon(HUGES * HUGE, 1);
	small = map_anon(SMALL * PAGE, 0);
	fill(tlb, HUGES * HUGE, seed);
	fill(thp, HUGES * HUGE, seed + 1);
	fill(small, SMALL * PAGE, seed + 2);
	alloc_on(-1);
	for (node = 1; node >= 0; node--) {
		for (i = n = 0; i < HUGES; i++) {
			pages[n++] = tlb + i * HUGE;
			pages[n++] = thp + i * HUGE;
		}
		for (i = 0; i < SMALL; i++)
			pages[n++] = small + i * PAGE;
		for (i = 0; i < n; i++)
			nodes[i] = node;
		before = lift_counts();
		is(syscall(SYS_move_pages, 0, (long)n, pages, nodes, status, MPOL_MF_MOVE), 0,
		   "in company: move_pages to node %d", node);
		c = lift_since(before);
		is(on_node(tlb, HUGES * HUGE, node) + on_node(thp, HUGES * HUGE, node) +
			   on_node(small, SMALL * PAGE, node),
		   2 * HUGES * 512 + SMALL, "in company: all are on node %d", node);
		is(check(tlb, HUGES * HUGE, seed) + check(thp, HUGES * HUGE, seed + 1) +
			   check(small, SMALL * PAGE, seed + 2),
		   0, "in company: no page differs");
		if (lift_engine())
			is(c.pages, HUGES * 512 + SMALL,
			   "in company: the engine copied all but the hugetlb pages");
	}
	munmap(tlb, HUGES * HUGE);
	munmap(thp, HUGES * HUGE);
	munmap(small, SMALL * PAGE);
}

static void test(void)
{
	lift_begin();
	pools(6, 6, 0);
	try("private", MAP_PRIVATE, 4 * HUGE, rounds(1), 0);
	try("shared", MAP_SHARED, 4 * HUGE, rounds(1), 0);
	test_two_mappings();
	test_in_company();
	pools_are("from the pools", 12);

	pools(4, 0, 8);
	try("private, to surplus pages", MAP_PRIVATE, 3 * HUGE, rounds(1), 0);
	try("shared, to surplus pages", MAP_SHARED, 3 * HUGE, rounds(1), 0);
	/* more pages than the pool has: some sources are surplus as well, wherever they are */
	try("private, some surplus", MAP_PRIVATE, 7 * HUGE, rounds(1), 1);
	pools_are("with surplus pages", 4);
	pools(0, 0, 0);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("contents_hugetlb", 60, test);
}
