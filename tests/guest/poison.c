// SPDX-License-Identifier: GPL-2.0
/*
 * A source that cannot be read fails alone (H4): it stays, its contents with it, everything else moves, and
 * what the caller and the counters are told, and how often the poison is touched, is what it is without foliolift.
 */
#include "lib/mem.h"

struct outcome {
	long rc;
	long long reads;
	struct migration_counts c;
};

static struct outcome try(const char *engine, const char *kind, int huge, size_t n, size_t victim,
			  const struct outcome *want)
{
	size_t step = huge ? HUGE : PAGE, len = n * step, i, wrong = 0;
	struct lift_counts lift;
	uint64_t seed = rnd();
	struct outcome got;
	char what[80], *p;

	snprintf(what, sizeof(what), "%s, %s, number %zu of %zu", engine ? engine : "off", kind,
		 victim, n);
	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, seed);
	alloc_on(-1);
	tester_put("poison_addr", "0x%lx", (unsigned long)(p + victim * step));
	got.c = migration_counts();
	lift = lift_counts();
	got.rc = move(p, len, step, 1);
	got.c = migration_since(got.c);
	lift = lift_since(lift);
	got.reads = tester_get("poison_reads");
	tester_put("poison_addr", "0");

	for (i = 0; i < n; i++)
		wrong += node_of(p + i * step) != (i != victim);
	is(wrong, 0, "%s: it stays, all others moved", what);
	is(check(p, len, seed), 0, "%s: no page differs", what);
	is(got.rc, 1, "%s: move_pages tells of one", what);
	is(got.c.fail, step / PAGE, "%s: pgmigrate_fail", what);
	is(got.c.success, (n - 1) * step / PAGE, "%s: pgmigrate_success", what);
	is(got.c.thp_fail, huge, "%s: thp_migration_fail", what);
	if (want) {
		/* each thread reads its part of a folio and finds out by itself; here all parts are poisoned */
		if (huge && !strcmp(engine, "mt"))
			ok(got.reads >= want->reads && got.reads <= want->reads * 32,
			   "%s: read once in each part at most", what);
		else
			is(got.reads, want->reads, "%s: read as often as with foliolift off", what);
		ok(lift.poisoned > 0, "%s: the engine's report is counted", what);
		is(lift.fell_failed + lift.fell_declined, 0, "%s: it is no reason to fall back",
		   what);
		is(lift.pages, (n - 1) * step / PAGE, "%s: the engine copied the others", what);
	} else {
		diag("%s: read %lld times", what, got.reads);
	}
	is(move(p, len, step, 1), 0, "%s: healthy again, it can be moved", what);
	is(check(p, len, seed), 0, "%s: and does not differ", what);
	munmap(p, len);
	return got;
}

static void test(void)
{
	static const char *const engines[] = { "cpu", "mt", "test" };
	static const struct {
		const char *kind;
		int huge;
		size_t n, victim;
	} cases[] = {
		{ "4 KB", 0, 60, 0 },  { "4 KB", 0, 60, 31 },
		{ "4 KB", 0, 60, 59 }, { "THP", 1, 4, 0 },
		{ "THP", 1, 4, 2 },    { "THP", 1, 6, 5 }, /* of a second batch */
	};
	struct outcome off;
	size_t i, e;

	lift_begin();
	tester_load();
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		lift_set(NULL);
		off = try(NULL, cases[i].kind, cases[i].huge, cases[i].n, cases[i].victim, NULL);
		for (e = 0; e < sizeof(engines) / sizeof(*engines); e++) {
			lift_set(engines[e]);
			try(engines[e], cases[i].kind, cases[i].huge, cases[i].n, cases[i].victim,
			    &off);
		}
	}
	lift_set(NULL);
}

int main(void)
{
	return tap_main("poison", 60, test);
}
