// SPDX-License-Identifier: GPL-2.0
/*
 * Random batches: kinds of folio, orders, pins, engines that do whatever an engine
 * may, no memory, and moves that fail and are tried again.  round.c checks each.
 */
#include "cmocka-native.h"
#include "round.h"

#include "mm/foliolift/internal.h"

static uint64_t seed;
static unsigned int round_nr;
static bool in_round;

/* Mostly small batches of all sizes of folio, sometimes one of several calls. */
static void random_folios(struct round *round, struct rng *rng)
{
	unsigned int nr = rng_below(rng, 48), max_order = 9;

	if (rng_percent(rng, 3)) {
		nr = FOLIOLIFT_MAX_SEGMENTS - 2 + rng_below(rng, 1200);
		max_order = 1;
	}
	while (nr--) {
		unsigned int order = rng_percent(rng, 70) ? 0 :
				     1 + rng_below(rng, max_order);
		struct item *item = round_add(round, rng_percent(rng, 50) ? ANON :
					      rng_below(rng, NR_KINDS), order);

		if (rng_percent(rng, 10))
			round_pin(item);
		if (rng_percent(rng, 2))
			round_unpin(item);
		item->src->poisoned = rng_percent(rng, 3);
		item->src->buffer_held = rng_percent(rng, 20);
		item->src->freeze_fails = rng_percent(rng, 10);
	}
}

static void random_engine(struct round *round, struct rng *rng)
{
	/* All alike, each as it comes, or nothing but copies. */
	unsigned int how = rng_below(rng, 3), plan = rng_below(rng, NR_PLANS);
	unsigned int i;

	static const unsigned int min_pages[] = { 0, 1, 2, 8, 100, UINT_MAX };

	round->use_cpu = rng_percent(rng, 25);
	round->engine_ret = rng_percent(rng, 25) ? -1 - (int)rng_below(rng, 133) :
						   0;
	for (i = 0; i < round->nr; i++) {
		struct item *item = &round->items[i];

		item->plan = how == 0 ? plan :
			     how == 1 ? rng_below(rng, NR_PLANS) : PLAN_COPY;
		/* No engine reads what it cannot read. */
		if (item->src->poisoned && !round->use_cpu)
			item->plan = rng_percent(rng, 80) ? PLAN_POISON : PLAN_FAIL;
		do {
			item->error = rng_percent(rng, 80) ?
				      -1 - (int)rng_below(rng, 4095) :
				      (int)rng_next(rng);
		} while (!item->error || item->error == -EHWPOISON ||
			 item->error == FOLIOLIFT_PENDING);
	}
	foliolift_unregister_engine(&round_engine);
	round_engine.min_pages = min_pages[rng_below(rng, ARRAY_SIZE(min_pages))];
	assert_int_equal(foliolift_register_engine(&round_engine), 0);
}

/* What other people do to a folio that the copy stage had to leave alone. */
static void random_writer(struct item *item, struct rng *rng)
{
	bool held = item->kind->buffers && item->src->buffer_held;

	if ((item->extra_refs || held) && rng_percent(rng, 70))
		model_folio_write(item->src, rng_next(rng));
	if (item->extra_refs > 0 && rng_percent(rng, 60))
		round_unpin(item);
	else if (item->extra_refs < 0)
		round_pin(item);
	if (rng_percent(rng, 60))
		item->src->buffer_held = false;
}

static void random_moves(struct round *round, struct rng *rng)
{
	unsigned int pass, i;

	for (pass = 0; pass < 3; pass++) {
		for (i = 0; i < round->nr; i++) {
			struct item *item = &round->items[i];
			bool looked_at = rng_percent(rng, 10);

			if (item->moved <= 0)
				continue;
			random_writer(item, rng);
			if (looked_at)
				round_pin(item);
			if (round_move(item) == -EAGAIN && rng_percent(rng, 50))
				model_folio_write(item->src, rng_next(rng));
			if (looked_at)
				round_unpin(item);
		}
	}
	round_move_all(round);
}

static void random_round(struct rng *rng)
{
	struct round round;

	round_init(&round);
	model_cpu = rng_below(rng, NR_CPUS);
	round.mode = rng_below(rng, 3);
	round.reason = rng_below(rng, MR_TYPES);
	round.key_off = rng_percent(rng, 5);
	round.no_memory = rng_percent(rng, 5);
	random_folios(&round, rng);
	random_engine(&round, rng);
	round_stage(&round);
	if (rng_percent(rng, 10))
		foliolift_set_enabled(false);
	random_moves(&round, rng);
	round_free(&round);
}

static void test_random_batches(void **state)
{
	unsigned int rounds = model_rounds(3000);

	seed = model_seed();
	for (round_nr = 0; round_nr < rounds; round_nr++) {
		struct rng rng = { seed + round_nr };

		in_round = true;
		random_round(&rng);
		in_round = false;
	}
	print_message("%u batches\n", rounds);
}

static int tell_seed(void **state)
{
	if (in_round)
		print_message("failed: SEED=%llu ROUNDS=1 repeats round %u alone\n",
			      (unsigned long long)(seed + round_nr), round_nr);
	model_cpu = 0;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random_batches, tell_seed),
	};

	return run_group("random", tests, round_setup, round_teardown);
}
