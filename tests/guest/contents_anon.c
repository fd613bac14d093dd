// SPDX-License-Identifier: GPL-2.0
/* Anonymous memory that is moved to the other node and back has the contents it had: small pages, THPs, mTHPs. */
#include "lib/mem.h"

static char *anon_on_0(size_t len, int huge)
{
	char *p;

	alloc_on(0);
	p = map_anon(len, huge);
	return p;
}

static void test_small(void)
{
	struct area a = { .what = "4 KB", .len = 1300 * PAGE, .step = PAGE, .copied = 1300 };

	a.p = anon_on_0(a.len, 0);
	area_fill(&a);
	alloc_on(-1);
	area_to_and_fro(&a, rounds(2));
	munmap(a.p, a.len);
}

static void test_single(void)
{
	/* most engines leave a single page to the move step, since it gains nothing */
	struct area a = { .what = "one page", .len = PAGE, .step = PAGE };

	a.copied = lift_takes(1);
	a.p = anon_on_0(a.len, 0);
	area_fill(&a);
	alloc_on(-1);
	area_to_and_fro(&a, 1);
	munmap(a.p, a.len);
}

static void test_thp(void)
{
	struct area a = {
		.what = "THP", .len = 6 * HUGE, .step = HUGE, .huge = 1, .copied = 6 * 512
	};

	a.p = anon_on_0(a.len, 1);
	area_fill(&a);
	alloc_on(-1);
	area_to_and_fro(&a, rounds(1));
	munmap(a.p, a.len);
}

static void test_mixed(void)
{
	/* THP, 512 small pages, THP, ...: one list, folios of two sizes */
	enum { PAIRS = 3, N = PAIRS * 513 };
	size_t len = 2 * PAIRS * HUGE, i, n = 0;
	static void *pages[N];
	static int nodes[N], status[N];
	uint64_t seed = rnd();
	struct lift_counts before, c;
	int round, node;
	char *p;

	p = anon_on_0(len, 0);
	for (i = 0; i < 2 * PAIRS; i++) {
		size_t j;

		madvise(p + i * HUGE, HUGE, i % 2 ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
		for (j = 0; j < (i % 2 ? 512 : 1); j++)
			pages[n++] = p + i * HUGE + j * PAGE;
	}
	fill(p, len, seed);
	alloc_on(-1);
	is(huge_mapped(p, len), PAIRS, "mixed: half are THPs");
	for (round = 0; round < 2; round++) {
		node = !round;
		for (i = 0; i < n; i++)
			nodes[i] = node;
		before = lift_counts();
		is(syscall(SYS_move_pages, 0, n, pages, nodes, status, MPOL_MF_MOVE), 0,
		   "mixed: move_pages to node %d", node);
		c = lift_since(before);
		is(on_node(p, len, node), len / PAGE, "mixed: all pages are on node %d", node);
		is(check(p, len, seed), 0, "mixed: no page differs");
		is(huge_mapped(p, len), PAIRS, "mixed: still half are THPs");
		/* the last batch is a few small pages, too few for some engines */
		if (lift_present())
			is(c.pages + c.small, lift_engine() ? (long long)(len / PAGE) : 0,
			   "mixed: pages that the engine copied");
		if (lift_takes(2))
			is(c.small, 0, "mixed: no batch was too small");
	}
	munmap(p, len);
}

static void test_mthp(void)
{
	static const char enabled[] = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
	struct area a = { .what = "64 KB folios", .len = 4 * MB, .step = 64 * KB, .copied = 1024 };
	size_t i, whole = 0;

	if (!exists(enabled)) {
		skip("64 KB folios", "this kernel has no mTHPs");
		return;
	}
	put(enabled, "madvise");
	put("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "never");
	a.p = anon_on_0(a.len, 1);
	area_fill(&a);
	alloc_on(-1);
	madvise(a.p, a.len, MADV_NOHUGEPAGE); /* so that khugepaged leaves them alone */
	put("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "inherit");
	put(enabled, "never");
	for (i = 0; i < a.len; i += a.step)
		whole += folio_pages(a.p + i, 64) == 16;
	is(whole, a.len / a.step, "64 KB folios: they are that before");
	area_move(&a, 1);
	for (whole = i = 0; i < a.len; i += a.step)
		whole += folio_pages(a.p + i, 64) == 16;
	is(whole, a.len / a.step, "64 KB folios: and after");
	/*
	 * Unmapped one entry after the other, they look partially mapped to the kernel, which therefore splits
	 * them when they are moved again, and moves the parts.
	 */
	area_fill(&a);
	a.step = PAGE;
	a.copied = -1;
	area_move(&a, 0);
	munmap(a.p, a.len);
}

static void test(void)
{
	lift_begin();
	test_small();
	test_single();
	test_thp();
	test_mixed();
	test_mthp();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("contents_anon", 60, test);
}
