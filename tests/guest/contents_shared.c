// SPDX-License-Identifier: GPL-2.0
/* Anonymous memory that is locked, shared with a child since fork, or merged by KSM keeps its contents and its ties. */
#include "lib/mem.h"

/* ----- mlock ----- */

static int count_flag(char *p, size_t len, size_t step, int flag)
{
	size_t i, n = 0;

	for (i = 0; i < len; i += step)
		n += page_is(p + i, flag);
	return n;
}

static void try_locked(const char *what, size_t len, int huge)
{
	struct area a = { .what = what,
			  .len = len,
			  .step = huge ? HUGE : PAGE,
			  .huge = huge,
			  .copied = len / PAGE };
	long long locked = vmstat("nr_mlock");
	int n = len / a.step;

	alloc_on(0);
	a.p = map_anon(len, huge);
	area_fill(&a);
	alloc_on(-1);
	if (mlock(a.p, len))
		fatal("%s: memory can be locked", what);
	is(count_flag(a.p, len, a.step, KPF_MLOCKED), n, "%s: locked before", what);
	area_to_and_fro(&a, 1);
	/* of a THP the kernel forgets it until reclaim comes by: remove_migration_pmd() does not look at the VMA */
	if (!huge) {
		is(count_flag(a.p, len, a.step, KPF_MLOCKED), n, "%s: and after", what);
		is(count_flag(a.p, len, a.step, KPF_UNEVICTABLE), n, "%s: unevictable too", what);
	}
	munlock(a.p, len);
	is(count_flag(a.p, len, a.step, KPF_MLOCKED), 0, "%s: it can be unlocked", what);
	munmap(a.p, len);
	write_file("/proc/sys/vm/stat_refresh", "1");
	is(vmstat("nr_mlock"), locked, "%s: no page is counted as locked for ever", what);
}

/* ----- fork ----- */

/* The child answers to each byte: how many pages differ from the pattern (it changed the first half). */
static void child(int in, int out, char *p, size_t len, uint64_t seed)
{
	char c;

	while (read(in, &c, 1) == 1) {
		uint32_t bad;

		if (c == 'w')
			fill(p, len / 2, ~seed);
		bad = c == 'r' ? check(p, len, seed) :
				 check(p, len / 2, ~seed) +
					 check_from(p + len / 2, len / 2, seed, len / 2 / PAGE);
		if (write(out, &bad, 4) != 4)
			_exit(1);
	}
	_exit(0);
}

static int ask(int out, int in, char c)
{
	uint32_t bad = -1;

	if (write(out, &c, 1) != 1 || read(in, &bad, 4) != 4)
		return -1;
	return bad;
}

static void try_forked(const char *what, size_t len, int huge)
{
	struct area a = {
		.what = what,
		.len = len,
		.step = huge ? HUGE : PAGE,
		.huge = huge,
		.copied = len / PAGE,
		.flags = MPOL_MF_MOVE_ALL,
	};
	int to[2], from[2], node, refused = 0, *status = calloc(len / a.step, sizeof(*status));
	size_t i;
	pid_t pid;

	if (!status || pipe(to) || pipe(from))
		fatal("%s: pipes can be had", what);
	alloc_on(0);
	a.p = map_anon(len, huge);
	area_fill(&a);
	alloc_on(-1);
	pid = fork();
	if (!pid) {
		close(to[1]);
		close(from[0]);
		child(to[0], from[1], a.p, len, a.seed);
	}
	close(to[0]);
	close(from[1]);

	is(ask(to[1], from[0], 'r'), 0, "%s: the child has the parent's memory", what);
	move_status(0, a.p, len, a.step, 1, MPOL_MF_MOVE, status);
	for (i = 0; i < len / a.step; i++)
		refused += status[i] == -EACCES;
	is(refused, len / a.step, "%s: MPOL_MF_MOVE leaves them where they are", what);
	for (node = 1; node >= 0; node--) {
		area_move(&a, node);
		is(on_node_of(pid, a.p, len, node), len / PAGE, "%s: they moved for the child too",
		   what);
		is(ask(to[1], from[0], 'r'), 0, "%s: no page of the child differs", what);
	}
	/* the child changes half: its copies stay its own, and the rest stays shared */
	is(ask(to[1], from[0], 'w'), 0, "%s: the child can write", what);
	a.copied = -1;
	a.huge = 0;
	area_move(&a, 1);
	is(ask(to[1], from[0], 'c'), 0, "%s: the child has what it wrote, the rest as before",
	   what);
	close(to[1]);
	waitpid(pid, NULL, 0);
	is(check(a.p, len, a.seed), 0, "%s: the parent has what it had", what);
	close(from[0]);
	munmap(a.p, len);
	free(status);
}

/* ----- KSM ----- */

static void test_ksm(void)
{
	struct area a = { .what = "KSM",
			  .len = 200 * PAGE,
			  .step = PAGE,
			  .copied = 200,
			  .flags = MPOL_MF_MOVE_ALL };
	char *twin;
	int i;

	if (!exists("/sys/kernel/mm/ksm/run")) {
		skip("KSM", "this kernel has none");
		return;
	}
	alloc_on(0);
	a.p = map_anon(a.len, 0);
	twin = map_anon(a.len, 0);
	area_fill(&a);
	fill(twin, a.len, a.seed);
	alloc_on(-1);
	if (madvise(a.p, a.len, MADV_MERGEABLE) || madvise(twin, a.len, MADV_MERGEABLE))
		fatal("memory can be offered to KSM");
	put("/sys/kernel/mm/ksm/pages_to_scan", "2000");
	put("/sys/kernel/mm/ksm/sleep_millisecs", "5");
	put("/sys/kernel/mm/ksm/run", "1");
	for (i = 0; i < 1000 && get("/sys/kernel/mm/ksm/pages_shared") < 200; i++)
		usleep(20000);
	put("/sys/kernel/mm/ksm/run", "0");
	is(get("/sys/kernel/mm/ksm/pages_shared"), 200, "KSM: each page is merged with its twin");
	/* where KSM's own pages are is chance: bring them to node 0 first */
	move_status(0, a.p, a.len, PAGE, 0, MPOL_MF_MOVE_ALL, NULL);
	is(on_node(a.p, a.len, 0), 200, "KSM: all pages begin on node 0");
	for (i = 1; i >= 0; i--) {
		area_move(&a, i);
		is(on_node(twin, a.len, i), 200, "KSM: the twins moved with them");
		is(check(twin, a.len, a.seed), 0, "KSM: no page of the twins differs");
		is(count_flag(twin, a.len, PAGE, KPF_KSM), 200, "KSM: they are still merged");
	}
	put("/sys/kernel/mm/ksm/run", "2");
	is(check(a.p, a.len, a.seed) + check(twin, a.len, a.seed), 0,
	   "KSM: no page differs when separated again");
	put("/sys/kernel/mm/ksm/run", "0");
	munmap(a.p, a.len);
	munmap(twin, a.len);
}

static void test(void)
{
	lift_begin();
	try_locked("locked", 300 * PAGE, 0);
	try_locked("locked THP", 3 * HUGE, 1);
	try_forked("forked", 300 * PAGE, 0);
	try_forked("forked THP", 3 * HUGE, 1);
	test_ksm();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("contents_shared", 90, test);
}
