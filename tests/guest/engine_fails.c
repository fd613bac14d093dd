// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever an engine fails to do, the CPU does: an error for segment k of n, for every k, several at once, a
 * segment it forgets to report (H3: its destination must not be seen as it is), a batch that it declines, a
 * delay. All pages move with their contents, the counters tell what happened, and those that existed before
 * tell nothing (H8).
 */
#include "lib/mem.h"

#define SMALL 24
#define THPS 4

static char *small, *thps;
static uint64_t seed;
static int here; /* node they are on */

/* What one move must have done. */
struct expect {
	long rc;
	long long batches, copied, failed, declined, fell_failed, fell_declined, poisoned;
};

static int same(const char *what, long long got, long long want)
{
	if (got == want)
		return 1;
	diag("%s: got %lld, want %lld", what, got, want);
	return 0;
}

/* One move of the small pages or the THPs: is everything as expected? */
static int moved_as(const struct expect *e, int huge)
{
	char *p = huge ? thps : small;
	size_t step = huge ? HUGE : PAGE, n = huge ? THPS : SMALL, len = n * step;
	struct migration_counts m;
	struct lift_counts c;
	int good = 1;
	long rc;

	fill(p, len, ++seed);
	m = migration_counts();
	c = lift_counts();
	rc = move(p, len, step, !here);
	m = migration_since(m);
	c = lift_since(c);
	here = !here;
	good &= same("move_pages", rc, e->rc);
	good &= same("pages there", on_node(p, len, here), (n - e->rc) * step / PAGE);
	good &= same("pages that differ", check(p, len, seed), 0);
	good &= same("pgmigrate_success", m.success, (n - e->rc) * step / PAGE);
	good &= same("pgmigrate_fail", m.fail, e->rc * step / PAGE);
	good &= same("thp_migration_success", m.thp_success, huge ? n - e->rc : 0);
	good &= same("thp_migration_fail", m.thp_fail, huge ? e->rc : 0);
	good &= same("batches", c.batches, e->batches);
	good &= same("folios", c.folios, e->copied);
	good &= same("pages", c.pages, e->copied * (long long)(step / PAGE));
	good &= same("failed_folios", c.failed, e->failed);
	good &= same("declined_batches", c.declined, e->declined);
	good &= same("fallback_failed", c.fell_failed, e->fell_failed);
	good &= same("fallback_declined", c.fell_declined, e->fell_declined);
	good &= same("poisoned", c.poisoned, e->poisoned);
	good &= same("fallback_refs", c.refs, 0);
	good &= same("fallback_callback", c.callback, 0);
	if (e->rc) { /* the rest follows, for the next move */
		tester_put("fail_segment", "-1");
		if (move(p, len, step, here))
			fatal("what was left can be moved later");
	}
	return good;
}

static const char *kind(int huge)
{
	return huge ? "THP" : "4 KB";
}

static void one_segment(int huge)
{
	static const int errnos[] = { EIO, ENOMEM, EBUSY, EAGAIN, ETIMEDOUT };
	int n = huge ? THPS : SMALL, k, bad;
	struct expect e = { .batches = 1, .copied = n - 1, .failed = 1, .fell_failed = 1 };
	size_t i;

	for (i = 0; i < sizeof(errnos) / sizeof(*errnos); i++) {
		tester_put("fail_errno", "%d", errnos[i]);
		for (bad = k = 0; k < n; k += i ? 1 + k / 2 : 1) {
			tester_put("fail_segment", "%d", k);
			if (!moved_as(&e, huge) && ++bad == 1)
				diag("with segment %d", k);
		}
		is(bad, 0, "%s: segment k of %d fails with %s", kind(huge), n, strerror(errnos[i]));
	}
	tester_reset();

	e.fell_failed = 0;
	e.fell_declined = 1;
	for (bad = k = 0; k < n; k++) {
		tester_put("pending_segment", "%d", k);
		if (!moved_as(&e, huge) && ++bad == 1)
			diag("with segment %d", k);
	}
	is(bad, 0, "%s: segment k of %d is forgotten", kind(huge), n);
	tester_reset();
}

/* An engine that finds poison is believed; the second attempt goes to it again, with this folio as segment 0. */
static void found_poison(int huge)
{
	int n = huge ? THPS : SMALL;
	struct expect later = { .batches = 2, .copied = n, .failed = 1, .poisoned = 1 };
	struct expect always = {
		.rc = 1, .batches = 2, .copied = n - 1, .failed = 2, .poisoned = 2
	};

	tester_put("fail_errno", "%d", EHWPOISON);
	tester_put("fail_segment", "%d", n - 1);
	ok(moved_as(&later, huge), "%s: poison that is gone at the second attempt", kind(huge));
	tester_put("fail_segment", "0");
	ok(moved_as(&always, huge), "%s: poison that stays is tried twice, and fails alone",
	   kind(huge));
	tester_reset();
}

static void several(int huge)
{
	int n = huge ? THPS : SMALL, m, bad = 0;

	for (m = 1; m <= 5; m++) {
		int fails = (n + m - 1) / m;
		struct expect e = {
			.batches = 1, .copied = n - fails, .failed = fails, .fell_failed = fails
		};

		tester_put("fail_every", "%d", m);
		bad += !moved_as(&e, huge);
		/* and one of the others forgotten */
		if (m > 1) {
			tester_put("pending_segment", "1");
			e.copied--;
			e.failed++;
			e.fell_declined = 1;
			bad += !moved_as(&e, huge);
			tester_put("pending_segment", "-1");
		}
	}
	is(bad, 0, "%s: every m-th segment fails, for m from 1 to 5", kind(huge));
	tester_reset();
}

static void declines(int huge)
{
	int n = huge ? THPS : SMALL;
	struct expect e = { .batches = 1, .failed = n, .declined = 1, .fell_declined = n };

	tester_put("decline", "1");
	ok(moved_as(&e, huge), "%s: the engine declines", kind(huge));
	tester_reset();
}

static void delays(int huge)
{
	struct expect e = { .batches = 1, .copied = huge ? THPS : SMALL };

	tester_put("delay_us", "20000");
	ok(moved_as(&e, huge), "%s: the engine is slow", kind(huge));
	tester_reset();
}

/* Any of it at once, on more than one batch of folios of both sizes. */
static void anything(void)
{
	enum { N = 700, H = 6 };
	static void *pages[N + H];
	static int nodes[N + H], status[N + H];
	unsigned int round, bad = 0;
	char *p = map_anon(N * PAGE, 0), *q = map_anon(H * HUGE, 1);
	struct migration_counts m;

	for (round = 0; round < rounds(12); round++) {
		int n = 0, i, j = 0, node = !(round & 1);

		fill(p, N * PAGE, ++seed);
		fill(q, H * HUGE, seed + 1);
		for (i = 0; i < N; i++) {
			if (i % 120 == 60 && j < H)
				pages[n++] = q + j++ * HUGE;
			pages[n++] = p + i * PAGE;
		}
		while (j < H)
			pages[n++] = q + j++ * HUGE;
		for (i = 0; i < n; i++)
			nodes[i] = node;
		/* where they are now is chance: all to the other node first, in peace */
		if (!round) {
			tester_reset();
			move(p, N * PAGE, PAGE, !node);
			move(q, H * HUGE, HUGE, !node);
		}
		tester_put("async", "%d", (int)(rnd() % 2));
		tester_put("fail_every", "%d", (int)(rnd() % 9));
		tester_put("fail_segment", "%d", (int)(rnd() % 300) - 1);
		tester_put("pending_segment", "%d", (int)(rnd() % 300) - 1);
		tester_put("decline", "%d", rnd() % 6 == 0);
		tester_put("delay_us", "%d", (int)(rnd() % 3000));
		put(LIFT "batch_bytes", "%llu", 4096ull << rnd() % 13);
		m = migration_counts();
		bad += !same(
			"move_pages",
			syscall(SYS_move_pages, 0, (long)n, pages, nodes, status, MPOL_MF_MOVE), 0);
		m = migration_since(m);
		bad += !same("pages there", on_node(p, N * PAGE, node) + on_node(q, H * HUGE, node),
			     N + H * 512);
		bad += !same("pages that differ",
			     check(p, N * PAGE, seed) + check(q, H * HUGE, seed + 1), 0);
		bad += !same("pgmigrate_success", m.success, N + H * 512);
		bad += !same("pgmigrate_fail", m.fail, 0);
		seed++;
	}
	is(bad, 0, "anything at once");
	munmap(p, N * PAGE);
	munmap(q, H * HUGE);
}

static void test(void)
{
	int huge, async;

	lift_begin();
	lift_set("test");
	seed = rnd();
	alloc_on(0);
	small = map_anon(SMALL * PAGE, 0);
	thps = map_anon(THPS * HUGE, 1);
	fill(small, SMALL * PAGE, seed);
	fill(thps, THPS * HUGE, seed);
	alloc_on(-1);
	for (huge = 0; huge < 2; huge++) {
		here = 0;
		one_segment(huge);
		several(huge);
		declines(huge);
		delays(huge);
		found_poison(huge);
		for (async = 0; async < 2; async++) {
			struct expect e = { .batches = 1, .copied = huge ? THPS : SMALL };

			tester_put("async", "%d", async);
			ok(moved_as(&e, huge), "%s: nothing fails, %s", kind(huge),
			   async ? "in a workqueue" : "at once");
		}
	}
	anything();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("engine_fails", 90, test);
}
