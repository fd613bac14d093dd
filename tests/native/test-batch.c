// SPDX-License-Identifier: GPL-2.0
/* batch.c and the inline functions of migrate.h, one behaviour a test. */
#include "cmocka-native.h"
#include "round.h"

#include "mm/foliolift/internal.h"
#include "mm/foliolift/overwrite.h"

/* A batch of @nr anonymous pages for the test's engine. */
static void anon_round(struct round *round, unsigned int nr)
{
	round_init(round);
	while (nr--)
		round_add(round, ANON, 0);
}

static void test_cpu_copies_every_order(void **state)
{
	struct round round;
	unsigned int order;

	round_init(&round);
	round.use_cpu = true;
	for (order = 0; order < 10; order++)
		round_add(&round, order & 1 ? SHMEM : ANON, order);
	round_stage(&round);
	round_move_all(&round);
	round_free(&round);
}

static void test_a_single_page_is_left_to_the_move(void **state)
{
	struct round round;

	anon_round(&round, 1);
	round.use_cpu = true;
	round_stage(&round);
	assert_int_equal(round.items[0].src->nr_reads, 0);
	round_move_all(&round);
	round_free(&round);
}

static void test_nothing_happens_while_off(void **state)
{
	struct round round;

	anon_round(&round, 3);
	round.key_off = true;
	round_stage(&round);
	round_move_all(&round);
	round_free(&round);
}

static void test_empty_batch(void **state)
{
	struct round round;

	anon_round(&round, 0);
	round_stage(&round);
	round_free(&round);
}

/* H6: the copy that is not the common one would be done twice. */
static void test_only_the_common_copy_is_early(void **state)
{
	unsigned int kind;

	for (kind = 0; kind < NR_KINDS; kind++) {
		struct round round;

		print_message("  %s\n", kinds[kind].name);
		round_init(&round);
		round_add(&round, ANON, 0);
		round_add(&round, kind, 2);
		round_add(&round, ANON, 0);
		round_stage(&round);
		round_move_all(&round);
		round_free(&round);
	}
}

/* H1: what is written through a pin before the move must not be lost. */
static void test_pinned_waits_for_the_move(void **state)
{
	struct round round;
	struct item *item;

	anon_round(&round, 3);
	item = &round.items[1];
	round_pin(item);
	round_stage(&round);
	assert_int_equal(item->dst->nr_writes, 0);
	model_folio_write(item->src, 4711);
	round_unpin(item);
	round_move_all(&round);
	assert_true(model_folio_same(item->dst, item->src));
	round_free(&round);
}

/* A missing reference is as strange as one too many. */
static void test_any_other_reference_count_waits(void **state)
{
	static const enum kind_id some[] = { ANON, SWAPCACHE, FILEMAP_PRIVATE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		struct round round;
		struct item *item;

		anon_round(&round, 1);
		item = round_add(&round, some[i], 3);
		round_unpin(item);
		round_stage(&round);
		assert_int_equal(item->dst->nr_writes, 0);
		round_pin(item);
		round_move_all(&round);
		round_free(&round);
	}
}

/* Whoever holds a buffer writes with no reference and no lock. */
static void test_folio_with_buffers_waits_for_the_move(void **state)
{
	struct round round;
	struct item *item;

	anon_round(&round, 1);
	item = round_add(&round, BUFFERS, 0);
	item->src->buffer_held = true;
	round_stage(&round);
	model_folio_write(item->src, 4712);
	assert_int_equal(round_move(item), -EAGAIN);
	round_move_all(&round);
	assert_true(model_folio_same(item->dst, item->src));
	round_free(&round);
}

/* H4, by the engine that is always there and by another. */
static void test_poisoned_fails_alone(void **state)
{
	unsigned int cpu;

	for (cpu = 0; cpu < 2; cpu++) {
		struct round round;
		unsigned int i;

		anon_round(&round, 5);
		round.use_cpu = cpu;
		round.items[2].src->poisoned = cpu;
		round.items[2].plan = PLAN_POISON;
		round_stage(&round);
		round_move_all(&round);
		for (i = 0; i < round.nr; i++)
			assert_int_equal(round.items[i].moved,
					 i == 2 ? -EHWPOISON : 0);
		/* Once by the CPU; by an engine in a way of its own. */
		assert_int_equal(round.items[2].src->nr_reads, cpu);
		round_free(&round);
	}
}

/* An engine that says nothing has copied nothing. */
static void test_silent_engine_copied_nothing(void **state)
{
	int ret;

	for (ret = 0; ret >= -1; ret--) {
		struct round round;
		unsigned int i;

		anon_round(&round, 4);
		round.engine_ret = ret;
		for (i = 0; i < round.nr; i++)
			round.items[i].plan = PLAN_PENDING;
		round_stage(&round);
		round_move_all(&round);
		round_free(&round);
	}
}

static void test_declined_batch_keeps_what_was_copied(void **state)
{
	struct round round;

	anon_round(&round, 4);
	round.engine_ret = -EBUSY;
	round.items[2].plan = PLAN_PENDING;
	round.items[3].plan = PLAN_POISON;
	round_stage(&round);
	assert_int_equal(model.traced_copied, 2);
	assert_int_equal(model.traced_ret, -EBUSY);
	assert_string_equal(model.traced_engine, "round");
	round_move_all(&round);
	round_free(&round);
}

/* Folio k of n fails in each way that there is, for every k. */
static void test_one_of_many_fails(void **state)
{
	static const int errors[] = {
		-EIO, -ETIMEDOUT, -ENOMEM, -EAGAIN, -EINVAL, -1, 2, INT_MIN,
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		for (k = 0; k < 9; k++) {
			struct round round;

			anon_round(&round, 9);
			round.items[k].plan = PLAN_FAIL;
			round.items[k].error = errors[i];
			round_stage(&round);
			round_move_all(&round);
			assert_int_equal(round.items[k].moved, 0);
			round_free(&round);
		}
	}
}

/* The move fails before its copy, or after it; the source is written then. */
static void test_outcome_is_void_after_a_failed_move(void **state)
{
	struct round round;
	unsigned int i;

	anon_round(&round, 4);
	round.items[1].src->freeze_fails = true;
	round.items[3].plan = PLAN_POISON;
	round_stage(&round);
	round_pin(&round.items[0]);
	round_pin(&round.items[3]);
	for (i = 0; i < round.nr; i++) {
		struct item *item = &round.items[i];

		if (i == 2) {
			assert_int_equal(round_move(item), 0);
			continue;
		}
		assert_int_equal(round_move(item), -EAGAIN);
		model_folio_write(item->src, 99 + i);
	}
	round_move_all(&round);
	assert_int_equal(round.items[0].src->nr_reads, 2);
	assert_int_equal(round.items[1].src->nr_reads, 2);
	assert_int_equal(round.items[2].src->nr_reads, 1);
	assert_int_equal(round.items[3].moved, -EHWPOISON);
	round_free(&round);
}

/*
 * A move that ends without having come to its common copy, for good: nothing may be
 * left in a folio that others see, or that goes back to the allocator.
 */
static void test_outcome_is_dropped_if_not_asked_for(void **state)
{
	static const enum kind_id ends[] = { OWN, INACCESSIBLE };
	unsigned int i, poisoned;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		for (poisoned = 0; poisoned < 2; poisoned++) {
			struct round round;
			struct item *item;

			anon_round(&round, 1);
			item = round_add(&round, FILEMAP, 1);
			item->plan = poisoned ? PLAN_POISON : PLAN_COPY;
			round_stage(&round);
			round_turn_into(item, ends[i]);
			assert_int_not_equal(round_move(item), -EAGAIN);
			assert_null(item->dst->private);
			round_move_all(&round);
			round_free(&round);
		}
	}
}

static void test_outcome_is_used_once(void **state)
{
	struct folio *src = model_folio(1, 1), *dst = model_folio(1, 2);
	int flags = FOLIOLIFT_OUTCOME | MOVE_WAS_MAPPED;

	dst->index = 0;
	foliolift_outcome_arm(dst, &flags);
	assert_int_equal(flags, MOVE_WAS_MAPPED);
	assert_int_equal(foliolift_copy_folio(dst, src), 0);
	assert_int_equal(src->nr_reads, 0);
	assert_null(dst->private);
	assert_int_equal(foliolift_copy_folio(dst, src), 0);
	assert_int_equal(src->nr_reads, 1);
	model_folio_free(src);
	model_folio_free(dst);
}

/* hugetlb's flags, or anything else, in dst->private: an ordinary copy. */
static void test_no_other_private_is_an_outcome(void **state)
{
	struct folio *src = model_folio(0, 1), *dst = model_folio(0, 2);
	struct rng rng = { 1 };
	unsigned int i;

	for (i = 0; i < 4096; i++) {
		unsigned long private = i < 512 ? i :
					i < 576 ? BIT(i - 512) : rng_next(&rng);
		unsigned int nr_reads = src->nr_reads;
		int flags = i % 4;

		dst->private = (void *)private;
		foliolift_outcome_arm(dst, &flags);
		assert_int_equal(flags, i % 4);
		assert_int_equal(foliolift_copy_folio(dst, src), 0);
		assert_int_equal(src->nr_reads, nr_reads + 1);
		foliolift_outcome_drop(dst);
		assert_int_equal((unsigned long)dst->private, private);
	}
	model_folio_free(src);
	model_folio_free(dst);
}

/* round_stage() and round_move() compare what is recorded; here all of it. */
static void test_record_keeps_anon_vma_and_flags(void **state)
{
	static long anon_vma;
	struct round round;
	int flags;

	round_init(&round);
	for (flags = 0; flags < 8; flags++) {
		struct item *item = round_add(&round, ANON, 0);

		item->anon_vma = flags & 4 ? &anon_vma : NULL;
		item->state = flags & 3;
		move_record(item->dst, item->state, item->anon_vma);
	}
	round_stage(&round);
	for (flags = 0; flags < 8; flags++)
		assert_int_equal(round.items[flags].outcome, 0);
	round_move_all(&round);
	round_free(&round);
}

static void test_many_folios_take_many_calls(void **state)
{
	static const unsigned int sizes[] = {
		FOLIOLIFT_MAX_SEGMENTS - 1, FOLIOLIFT_MAX_SEGMENTS,
		FOLIOLIFT_MAX_SEGMENTS + 2, 2 * FOLIOLIFT_MAX_SEGMENTS + 3,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct round round;

		anon_round(&round, sizes[i]);
		/* With these the third size's second call would be empty. */
		round_pin(&round.items[FOLIOLIFT_MAX_SEGMENTS - 2]);
		round_pin(&round.items[sizes[i] - 1]);
		round_stage(&round);
		assert_int_equal(round.nr_calls, i < 3 ? 1 : 3);
		round_move_all(&round);
		round_free(&round);
	}
}

static void test_no_memory(void **state)
{
	struct round round;

	anon_round(&round, 7);
	round_add(&round, OWN, 0);
	round.no_memory = true;
	round_stage(&round);
	assert_int_equal(round.nr_calls, 0);
	round_move_all(&round);
	round_free(&round);
}

static void test_batch_with_nothing_to_copy_makes_no_call(void **state)
{
	struct round round;

	anon_round(&round, 2);
	round_pin(&round.items[0]);
	round_pin(&round.items[1]);
	round_add(&round, HUGETLB, 1);
	round_stage(&round);
	assert_int_equal(round.nr_calls, 0);
	round_move_all(&round);
	round_free(&round);
}

/* What was copied stays copied. */
static void test_switched_off_between_copy_and_move(void **state)
{
	struct round round;

	anon_round(&round, 4);
	round_stage(&round);
	foliolift_set_enabled(false);
	round_move_all(&round);
	assert_int_equal(round.items[0].src->nr_reads, 1);
	round_free(&round);
}

static void test_mode_and_reason_reach_the_engine(void **state)
{
	struct round round;

	anon_round(&round, 2);
	round.mode = MIGRATE_SYNC;
	round.reason = MR_LONGTERM_PIN;
	round_stage(&round);
	round_move_all(&round);
	round_free(&round);
}

/* What round.c expects of a reason is the default; here by the mask itself. */
static void test_reasons_can_be_left_alone(void **state)
{
	unsigned long reasons = foliolift_reasons;
	struct round round;
	bool left_alone;
	int reason;

	for (reason = 0; reason < MR_TYPES; reason++) {
		anon_round(&round, 3);
		round.reason = reason;
		round_stage(&round);
		left_alone = reason == MR_NUMA_MISPLACED ||
			     reason == MR_MEMORY_FAILURE;
		assert_int_equal(round.nr_calls, !left_alone);
		round_move_all(&round);
		round_free(&round);
	}

	/* And any other, if a person says so. */
	anon_round(&round, 3);
	foliolift_select_engine("cpu");
	foliolift_set_enabled(true);
	foliolift_reasons = ~BIT(MR_SYSCALL);
	foliolift_copy_folios(&round.src, &round.dst, MIGRATE_ASYNC, MR_SYSCALL);
	assert_int_equal(round.items[0].dst->nr_writes, 0);
	foliolift_reasons = BIT(MR_MEMORY_FAILURE);
	foliolift_copy_folios(&round.src, &round.dst, MIGRATE_ASYNC,
			      MR_MEMORY_FAILURE);
	assert_int_equal(round.items[0].dst->nr_writes, 1);
	foliolift_reasons = reasons;
	round_free(&round);
}

/* Whoever brings a batch while the sampler sleeps wakes it, and nobody after that. */
static void test_batch_wakes_the_sampler(void **state)
{
	struct round round;

	anon_round(&round, 1);
	foliolift_select_engine("cpu");
	foliolift_set_enabled(true);
	model.nr_queued = 0;
	foliolift_copy_folios(&round.src, &round.dst, MIGRATE_ASYNC, MR_SYSCALL);
	assert_int_equal(model.nr_queued, 0);
	foliolift_sampler_asleep = true;
	/* Not for one that no engine is asked for; for a small one, yes. */
	foliolift_copy_folios(&round.src, &round.dst, MIGRATE_ASYNC,
			      MR_NUMA_MISPLACED);
	assert_int_equal(model.nr_queued, 0);
	foliolift_copy_folios(&round.src, &round.dst, MIGRATE_ASYNC, MR_SYSCALL);
	foliolift_copy_folios(&round.src, &round.dst, MIGRATE_ASYNC, MR_SYSCALL);
	assert_int_equal(model.nr_queued, 1);
	round_free(&round);
}

/* A8: what is not overwritten whole gets the zeroes that the allocator left out. */
static void test_destination_of_an_own_callback_is_zeroed(void **state)
{
	unsigned int kind, how, i;

	/* Also of those that have no mapping. */
	for (kind = 0; kind < NR_KINDS; kind++) {
		const struct address_space *mapping = kinds[kind].mapping;

		for (how = 0; how < 4; how++) {
			struct folio *dst = model_folio(2, 1);
			unsigned char sum = 0;

			model.init_on_alloc = how & 1;
			model.init_on_free = how & 2;
			foliolift_zero_dst(mapping, dst);
			for (i = 0; i < model_folio_size(dst); i++)
				sum |= dst->data[i];
			assert_int_equal(!sum, kind == OWN && how == 1);
			model_folio_free(dst);
		}
	}
	model.init_on_alloc = model.init_on_free = false;
}

/* After a test that has failed, so that the next one is none the worse. */
static int teardown(void **state)
{
	model_hush(true);
	model_hush(false);
	return 0;
}

#define BATCH_TEST(name)	cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BATCH_TEST(test_cpu_copies_every_order),
		BATCH_TEST(test_a_single_page_is_left_to_the_move),
		BATCH_TEST(test_nothing_happens_while_off),
		BATCH_TEST(test_empty_batch),
		BATCH_TEST(test_only_the_common_copy_is_early),
		BATCH_TEST(test_pinned_waits_for_the_move),
		BATCH_TEST(test_any_other_reference_count_waits),
		BATCH_TEST(test_folio_with_buffers_waits_for_the_move),
		BATCH_TEST(test_poisoned_fails_alone),
		BATCH_TEST(test_silent_engine_copied_nothing),
		BATCH_TEST(test_declined_batch_keeps_what_was_copied),
		BATCH_TEST(test_one_of_many_fails),
		BATCH_TEST(test_outcome_is_void_after_a_failed_move),
		BATCH_TEST(test_outcome_is_dropped_if_not_asked_for),
		BATCH_TEST(test_outcome_is_used_once),
		BATCH_TEST(test_no_other_private_is_an_outcome),
		BATCH_TEST(test_record_keeps_anon_vma_and_flags),
		BATCH_TEST(test_many_folios_take_many_calls),
		BATCH_TEST(test_no_memory),
		BATCH_TEST(test_batch_with_nothing_to_copy_makes_no_call),
		BATCH_TEST(test_switched_off_between_copy_and_move),
		BATCH_TEST(test_mode_and_reason_reach_the_engine),
		BATCH_TEST(test_reasons_can_be_left_alone),
		BATCH_TEST(test_batch_wakes_the_sampler),
		BATCH_TEST(test_destination_of_an_own_callback_is_zeroed),
	};

	return run_group("batch", tests, round_setup, round_teardown);
}
