// SPDX-License-Identifier: GPL-2.0
/* Where lists are cut into batches: by bytes, so that THPs batch, and by folios; and what an engine is never handed. */
#include "lib/mem.h"

struct batches {
	long long calls, segments, pages;
};

static char *small, *thps;

/* The @n folios, on node 0 before: what did the engine get while they moved? */
static struct batches batches_of(int huge, size_t n)
{
	char *p = huge ? thps : small;
	size_t step = huge ? HUGE : PAGE;
	struct batches b;

	tester_put("calls", "0");
	tester_put("max_segments", "0");
	tester_put("max_pages", "0");
	is(move(p, n * step, step, 1), 0, "%zu folios of %zu KB move", n, step >> 10);
	b.calls = tester_get("calls");
	b.segments = tester_get("max_segments");
	b.pages = tester_get("max_pages");
	move(p, n * step, step, 0);
	return b;
}

static void by_bytes(const char *bytes, size_t n, long long calls, long long segments)
{
	struct batches b;

	put(LIFT "batch_bytes", "%s", bytes);
	b = batches_of(1, n);
	is(b.calls, calls, "%zu THPs, batch_bytes %s: batches", n, bytes);
	is(b.segments, segments, "%zu THPs, batch_bytes %s: THPs in the largest", n, bytes);
	is(b.pages, segments * 512, "%zu THPs, batch_bytes %s: pages in it", n, bytes);
}

static void by_folios(int folios, const char *bytes, size_t n, long long calls, long long segments)
{
	struct batches b;

	put(LIFT "batch_bytes", "%s", bytes);
	put(LIFT "batch_folios", "%d", folios);
	b = batches_of(0, n);
	is(b.calls, calls, "%zu pages, batch_folios %d, batch_bytes %s: batches", n, folios, bytes);
	is(b.segments, segments,
	   "%zu pages, batch_folios %d, batch_bytes %s: folios in the largest", n, folios, bytes);
	put(LIFT "batch_folios", "512");
}

static void test(void)
{
	struct lift_counts c;

	lift_begin();
	lift_set("test");
	alloc_on(0);
	small = map_anon(2500 * PAGE, 0);
	thps = map_anon(8 * HUGE, 1);
	fill(small, 2500 * PAGE, 1);
	fill(thps, 8 * HUGE, 2);
	alloc_on(-1);

	by_bytes("16M", 8, 1, 8);
	by_bytes("8M", 8, 2, 4);
	by_bytes("4M", 8, 4, 2);
	by_bytes("2M", 8, 8, 1);
	by_bytes("4096", 3, 3, 1);
	by_bytes("5M", 7, 3, 3); /* full is what has reached it */

	by_folios(10, "8M", 100, 10, 10);
	by_folios(1, "8M", 30, 30, 1);
	by_folios(512, "8M", 1300, 3, 512);
	by_folios(512, "64K", 100, 7, 16);
	by_folios(16384, "64M", 2500, 3, 1024); /* one batch; an engine gets 1024 at most */
	by_folios(512, "8M", 1, 1, 1);

	/* a single page is no batch for the cpu engine, which gains nothing */
	lift_set("cpu");
	c = lift_counts();
	move(small, PAGE, PAGE, 1);
	is(lift_since(c).batches, 0, "one page is left to the move step by the cpu engine");
	move(small, 2 * PAGE, PAGE, 0);
	move(small, 2 * PAGE, PAGE, 1);
	is(lift_since(c).pages, 2, "two are not");
	move(small, 2 * PAGE, PAGE, 0);

	/* and off means off */
	lift_set(NULL);
	c = lift_counts();
	tester_put("calls", "0");
	put(LIFT "engine", "test");
	move(small, 100 * PAGE, PAGE, 1);
	move(thps, 4 * HUGE, HUGE, 1);
	is(tester_get("calls"), 0, "off, the selected engine is not called");
	is(check(small, 2500 * PAGE, 1) + check(thps, 8 * HUGE, 2), 0,
	   "no page differs after all that");
	lift_set(NULL);
}

int main(void)
{
	return tap_main("batching", 60, test);
}
