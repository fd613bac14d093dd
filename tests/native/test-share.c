// SPDX-License-Identifier: GPL-2.0
/*
 * share.c: one batch and many CPUs.  Helpers are threads that come early, late or never
 * in time; the batch is overwritten and freed as soon as the caller has returned, so
 * that AddressSanitizer sees whoever still looks at it, and ThreadSanitizer a copy that
 * the caller is not synchronised with.
 */
#include "cmocka-native.h"
#include "model.h"

#include <sched.h>

#include "mm/foliolift/internal.h"
#include "mm/foliolift/share.h"

#define MAX_HELPERS	31
#define MAX_PAGES	1024
#define CLOCK_STEP	500

/* ----- a batch whose pages know their number ----- */

static struct foliolift_batch *batch;
static struct page *dst_page[MAX_PAGES];
static unsigned int nr_copies[MAX_PAGES];
static bool poisoned[MAX_PAGES];
static unsigned long nr_clocks;		/* times that helpers asked for the time */

static _Thread_local bool is_helper, is_clock_running;
/* The helper with this number waits in the middle of its first copy. */
static _Thread_local bool stops_in_copy;
static int stopped, released;

static void batch_new(void)
{
	batch = calloc(1, sizeof(*batch));
	batch->segments = calloc(MAX_PAGES, sizeof(*batch->segments));
	memset(nr_copies, 0, sizeof(nr_copies));
	memset(poisoned, 0, sizeof(poisoned));
	nr_clocks = 0;
	stopped = 0;
	released = 0;
	model.resched = false;
}

static void batch_add(unsigned int order)
{
	struct foliolift_segment *seg = &batch->segments[batch->nr_segments++];
	unsigned long i;

	seg->src = model_folio(order, batch->nr_pages + 1);
	seg->dst = model_folio(order, 0);
	seg->nr_pages = 1 << order;
	seg->status = FOLIOLIFT_PENDING;
	for (i = 0; i < seg->nr_pages; i++, batch->nr_pages++) {
		*(uint64_t *)folio_page(seg->src, i) = batch->nr_pages;
		dst_page[batch->nr_pages] = folio_page(seg->dst, i);
	}
}

/* The kernel's two doubles that only share.c needs. */
int copy_mc_highpage(struct page *to, struct page *from)
{
	uint64_t nr = *(uint64_t *)from;

	if (is_helper && !model_preempt_count)
		model_fail("a helper copies and can be preempted");
	model_check(nr < MAX_PAGES && to == dst_page[nr]);
	__atomic_fetch_add(&nr_copies[nr], 1, __ATOMIC_RELAXED);
	if (stops_in_copy) {
		stops_in_copy = false;
		WRITE_ONCE(stopped, 1);
		while (!READ_ONCE(released))
			sched_yield();
	}
	if (poisoned[nr])
		return MODEL_PAGE;
	memcpy(to, from, MODEL_PAGE);
	return 0;
}

/* Time passes between two looks at the clock, and only then. */
u64 local_clock(void)
{
	if (!is_helper)
		model_fail("the caller's time is nobody's to count");
	__atomic_fetch_add(&nr_clocks, 1, __ATOMIC_RELAXED);
	is_clock_running = !is_clock_running;
	return is_clock_running ? 0 : CLOCK_STEP;
}

/* All that has to be true once the caller has returned. */
static void batch_check(u64 helper_ns)
{
	unsigned long page = 0;
	unsigned int s, i;

	model_check(READ_ONCE(nr_clocks) % 2 == 0);
	model_check(helper_ns == READ_ONCE(nr_clocks) / 2 * CLOCK_STEP);
	for (s = 0; s < batch->nr_segments; s++) {
		struct foliolift_segment *seg = &batch->segments[s];
		int status = 0;

		for (i = 0; i < seg->nr_pages; i++)
			if (poisoned[page + i])
				status = -EHWPOISON;
		if (seg->status != status)
			model_fail("segment %u has status %d, not %d", s,
				   seg->status, status);
		for (i = 0; i < seg->nr_pages; i++, page++) {
			unsigned int nr = READ_ONCE(nr_copies[page]);

			/* What comes after the poison need not be copied. */
			if (status ? nr > 1 : nr != 1)
				model_fail("page %lu was copied %u times", page, nr);
		}
		if (!status)
			model_check(model_folio_same(seg->dst, seg->src));
	}
}

static void batch_free(void)
{
	unsigned int s;

	for (s = 0; s < batch->nr_segments; s++) {
		model_folio_free(batch->segments[s].src);
		model_folio_free(batch->segments[s].dst);
	}
	memset(batch->segments, 0xa5, MAX_PAGES * sizeof(*batch->segments));
	free(batch->segments);
	memset(batch, 0xa5, sizeof(*batch));
	free(batch);
	batch = NULL;
}

/* ----- helpers ----- */

struct helper {
	pthread_t thread;
	struct foliolift_share *share;
	unsigned int delay;	/* turns before it comes */
	bool parked;		/* it comes when the caller has returned */
	bool stops;		/* in its first copy, until it is released */
};

static int returned;

static void *helper_thread(void *arg)
{
	struct helper *helper = arg;

	is_helper = true;
	stops_in_copy = helper->stops;
	while (helper->parked && !READ_ONCE(returned))
		sched_yield();
	while (helper->delay--)
		sched_yield();
	foliolift_share_help(helper->share);
	model_check(!model_preempt_count);
	foliolift_share_put(helper->share);
	return NULL;
}

/* As an engine asks a CPU: the helper's reference is taken for it. */
static void helper_start(struct helper *helper, struct foliolift_share *share)
{
	helper->share = share;
	refcount_inc(&share->refs);
	assert_int_equal(pthread_create(&helper->thread, NULL, helper_thread,
					helper), 0);
}

/* The caller's part, from the first helper that is there to the batch's end. */
static void caller(struct foliolift_share *share)
{
	u64 helper_ns;

	model_migrate_begin();
	helper_ns = foliolift_share_copy(share);
	batch_check(helper_ns);
	batch_free();
	foliolift_share_put(share);
	model_migrate_end();
	WRITE_ONCE(returned, 1);
}

static struct foliolift_share *share_new(void)
{
	struct foliolift_share *share;

	returned = 0;
	model_migrate_begin();
	share = foliolift_share_new(batch);
	model_migrate_end();
	assert_non_null(share);
	return share;
}

static void check_end(void)
{
	model_settled();
	assert_int_equal(model.nr_allocs, 0);
}

/* ----- one behaviour a test ----- */

static void test_no_memory_is_no_share(void **state)
{
	batch_new();
	batch_add(4);
	model.fault_in = 1;
	model_migrate_begin();
	assert_null(foliolift_share_new(batch));
	model_migrate_end();
	assert_int_equal(batch->segments[0].status, FOLIOLIFT_PENDING);
	batch_free();
	check_end();
}

static void test_part_of_a_folio(void **state)
{
	unsigned int i;

	batch_new();
	batch_add(3);
	assert_int_equal(foliolift_copy_part(batch->segments[0].dst,
					     batch->segments[0].src, 2, 5), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(nr_copies[i], i >= 2 && i < 7);
	poisoned[3] = true;
	assert_int_equal(foliolift_copy_part(batch->segments[0].dst,
					     batch->segments[0].src, 2, 5),
			 -EHWPOISON);
	/* Where it found the poison it has stopped. */
	assert_int_equal(nr_copies[4], 1);
	batch_free();
	check_end();
}

/* Around the size of a chunk, by the caller alone. */
static void test_alone(void **state)
{
	static const unsigned int sizes[] = { 1, 2, 31, 32, 33, 63, 64, 65, 512 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		batch_new();
		for (k = 0; k < sizes[i]; k++)
			batch_add(0);
		caller(share_new());
		check_end();
	}
}

/*
 * A helper that was asked and did not come: the caller does not wait for it, and when
 * it comes at last neither batch nor folios are there.
 */
static void test_late_helper_is_not_waited_for(void **state)
{
	static const unsigned int sizes[] = { 1, 31, 32, 33, 512 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct helper helper = { .parked = true };
		struct foliolift_share *share;

		batch_new();
		for (k = 0; k < sizes[i]; k++)
			batch_add(0);
		share = share_new();
		helper_start(&helper, share);
		caller(share);
		assert_int_equal(nr_clocks, 0);
		pthread_join(helper.thread, NULL);
		check_end();
	}
}

static void *caller_thread(void *arg)
{
	caller(arg);
	return NULL;
}

/* A helper that has taken a chunk and is slow: the caller waits, and sleeps. */
static void slow_helper(bool resched)
{
	struct helper helper = { .stops = true };
	unsigned long nr_waits = model.nr_waits;
	struct foliolift_share *share;
	pthread_t thread;
	int i, early = 0;

	batch_new();
	batch_add(9);
	model.resched = resched;
	share = share_new();
	helper_start(&helper, share);
	while (!READ_ONCE(stopped))
		sched_yield();
	pthread_create(&thread, NULL, caller_thread, share);
	while (READ_ONCE(model.nr_waits) == nr_waits && !READ_ONCE(returned))
		sched_yield();
	for (i = 0; i < 100; i++) {
		early += READ_ONCE(returned);
		sched_yield();
	}
	WRITE_ONCE(released, 1);
	pthread_join(thread, NULL);
	pthread_join(helper.thread, NULL);
	check_end();
	assert_int_equal(early, 0);
}

static void test_caller_waits_for_what_was_taken(void **state)
{
	slow_helper(false);
}

static void test_caller_sleeps_at_once_if_it_must(void **state)
{
	slow_helper(true);
}

/* H4: first, middle and last page of a folio that several copy. */
static void test_poison_fails_its_folio_alone(void **state)
{
	static const unsigned int pages[] = { 64, 64 + 255, 64 + 511, 0, 639 };
	unsigned int i, k, nr;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		for (nr = 0; nr <= 4; nr += 2) {
			struct helper helper[4] = { 0 };
			struct foliolift_share *share;

			batch_new();
			for (k = 0; k < 64; k++)
				batch_add(0);
			batch_add(9);
			batch_add(6);
			poisoned[pages[i]] = true;
			/* Two find it, in parts of their own. */
			poisoned[pages[i] ^ 64] = i == 1;
			share = share_new();
			for (k = 0; k < nr; k++)
				helper_start(&helper[k], share);
			caller(share);
			for (k = 0; k < nr; k++)
				pthread_join(helper[k].thread, NULL);
			check_end();
		}
	}
}

/* ----- all of it at random ----- */

static uint64_t seed;
static unsigned int round_nr;

static void random_shape(struct rng *rng)
{
	unsigned int shape = rng_below(rng, 4), order;

	if (shape == 0)
		batch_add(9);
	else if (shape == 1)
		while (batch->nr_pages < 512)
			batch_add(0);
	else
		do {
			order = shape == 2 ? rng_below(rng, 6) :
					     rng_below(rng, 10);
			if (batch->nr_pages + (1 << order) > MAX_PAGES)
				break;
			batch_add(order);
		} while (rng_percent(rng, 97));
}

static void random_round(struct rng *rng)
{
	unsigned int nr_helpers = rng_percent(rng, 50) ? rng_below(rng, 5) :
				  rng_below(rng, MAX_HELPERS + 1);
	struct helper helper[MAX_HELPERS];
	struct foliolift_share *share;
	unsigned int i;

	batch_new();
	random_shape(rng);
	while (rng_percent(rng, 30))
		poisoned[rng_below(rng, batch->nr_pages)] = true;
	model.resched = rng_percent(rng, 30);
	share = share_new();
	for (i = 0; i < nr_helpers; i++) {
		helper[i] = (struct helper) {
			.parked = rng_percent(rng, 20),
			.delay = rng_percent(rng, 50) ? rng_below(rng, 8) : 0,
		};
		helper_start(&helper[i], share);
	}
	for (i = rng_below(rng, 8); i; i--)
		sched_yield();
	caller(share);
	for (i = 0; i < nr_helpers; i++)
		pthread_join(helper[i].thread, NULL);
	check_end();
}

static void test_random_batches_and_helpers(void **state)
{
	unsigned int rounds = model_rounds(300);
	unsigned long nr_helped = 0;

	seed = model_seed();
	for (round_nr = 0; round_nr < rounds; round_nr++) {
		struct rng rng = { seed + round_nr };

		random_round(&rng);
		nr_helped += nr_clocks / 2;
	}
	print_message("%u batches, %lu chunks copied by helpers\n", rounds,
		      nr_helped);
	/* It would be no test if nobody had helped. */
	assert_true(rounds < 300 || nr_helped);
}

static int tell_seed(void **state)
{
	if (round_nr < model_rounds(300))
		print_message("failed: SEED=%llu ROUNDS=1 repeats round %u alone\n",
			      (unsigned long long)(seed + round_nr), round_nr);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory_is_no_share),
		cmocka_unit_test(test_part_of_a_folio),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_late_helper_is_not_waited_for),
		cmocka_unit_test(test_caller_waits_for_what_was_taken),
		cmocka_unit_test(test_caller_sleeps_at_once_if_it_must),
		cmocka_unit_test(test_poison_fails_its_folio_alone),
		cmocka_unit_test_teardown(test_random_batches_and_helpers,
					  tell_seed),
	};

	/* What waits for a helper that does not come is a hang. */
	alarm(30 + model_rounds(0));
	return run_group("share", tests, model_start, NULL);
}
