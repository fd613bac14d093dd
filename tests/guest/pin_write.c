// SPDX-License-Identifier: GPL-2.0
/*
 * H1, step by step, with the test engine as the device: a page is pinned for writing, its migration begins, the
 * engine copies the batch, then the pin is written through and dropped. From there on nothing tells that there
 * was a pin. What was written must be in the page, moved or not.
 */
#include "lib/mem.h"

#define VALUE 0x0123456789abcdefull

static void try(const char *what, int huge, int shared, size_t victim, size_t into)
{
	size_t step = huge ? HUGE : PAGE, n = huge ? 4 : 40, len = n * step, word;
	uint64_t seed = rnd(), got;
	struct lift_counts c;
	int fd = -1;
	char *p, *page;
	long rc;

	alloc_on(0);
	p = shared ? map_shmem(len, huge, &fd) : map_anon(len, huge);
	fill(p, len, seed);
	alloc_on(-1);
	page = p + victim * step + into * PAGE;
	tester_put("pin_value", "%llu", VALUE);
	tester_put("pin_addr", "0x%lx", (unsigned long)page);
	c = lift_counts();
	rc = move(p, len, step, 1);
	c = lift_since(c);
	ok(choice_is(TESTER "pin_done", "Y"), "%s: it was written while the batch migrated", what);
	got = *(volatile uint64_t *)page;
	if (!ok(got == VALUE, "%s: what was written is there", what))
		diag("it reads %016" PRIx64 ", the page is on node %d, move_pages gave %ld", got,
		     node_of(page), rc);
	/* and all else is as it was */
	word = mix(seed ^ mix((page - p) / PAGE));
	*(volatile uint64_t *)page = word ^ (word >> 29);
	is(check(p, len, seed), 0, "%s: no page differs otherwise", what);
	is(on_node(p, len, 1) + (rc ? step / PAGE : 0), len / PAGE,
	   "%s: all that move_pages does not complain about moved", what);
	if (!ok(c.refs > 0, "%s: it was left out of the batch for its reference", what))
		lift_tell(c);
	is(move(p, len, step, 1), 0, "%s: it can be moved later", what);
	is(check(p, len, seed), 0, "%s: no page differs then", what);
	munmap(p, len);
	if (fd >= 0)
		close(fd);
}

static void test(void)
{
	int async;

	lift_begin();
	for (async = 0; async < 2; async++) {
		lift_set("test");
		tester_put("async", "%d", async);
		diag("the engine copies %s", async ? "in a workqueue" : "itself");
		try("4 KB", 0, 0, 7, 0);
		try("4 KB, first", 0, 0, 0, 0);
		try("4 KB, last", 0, 0, 39, 0);
		try("THP", 1, 0, 1, 300);
		try("THP, first", 1, 0, 0, 0);
		try("THP, last", 1, 0, 3, 511);
	}
	lift_set(NULL);
}

int main(void)
{
	return tap_main("pin_write", 60, test);
}
