// SPDX-License-Identifier: GPL-2.0
/* The policy's rules, one by one, and random input that only the invariants survive. */
#include "cmocka-native.h"
#include "sim.h"

#define CPU	FOLIOLIFT_ROLE_CPU
#define MT	FOLIOLIFT_ROLE_MT
#define DMA	FOLIOLIFT_ROLE_DMA

static struct foliolift_policy policy;
static struct foliolift_speeds speeds;
static struct sim_check check;
static uint64_t now_ms;

static void set_speed(enum foliolift_role role, unsigned int width,
		      unsigned int start_ns, unsigned int page_ps)
{
	speeds.of[role][ilog2(width)] = (struct foliolift_speed) {
		.start_ns = start_ns, .page_ps = page_ps,
	};
}

static void remove_engine(enum foliolift_role role)
{
	memset(speeds.of[role], 0, sizeof(speeds.of[role]));
}

/* A CPU at 300 ns a page, and nothing else. */
static int begin(void **state)
{
	memset(&speeds, 0, sizeof(speeds));
	memset(&check, 0, sizeof(check));
	now_ms = 12345;
	foliolift_policy_init(&policy);
	set_speed(CPU, 1, 300, 300000);
	return 0;
}

/* @batches of @pages each came in the last tenth of a second. */
static struct foliolift_load load_of(unsigned int batches, unsigned int pages,
				     unsigned int idle)
{
	struct foliolift_load load = { .idle_16ths = 16 * idle };

	load.batches[foliolift_size_class(pages)] = batches;
	load.pages[foliolift_size_class(pages)] = (unsigned long)batches * pages;
	return load;
}

static void step(const struct foliolift_load *load)
{
	now_ms += 100;
	sim_step(&check, &policy, &speeds, load, now_ms);
}

/* So many tenths of a second of 512 pages a batch, with @idle CPUs. */
static void run(unsigned int steps, unsigned int idle)
{
	struct foliolift_load load = load_of(100, 512, idle);

	while (steps--)
		step(&load);
}

#define assert_choice(_role, _width) do {				\
	assert_int_equal(policy.now.role, _role);			\
	assert_int_equal(policy.now.width, _width);			\
} while (0)

static void test_begins_with_the_cpu(void **state)
{
	assert_choice(CPU, 1);
	assert_int_equal(policy.now.min_pages, 2);
	/* Nothing is calibrated yet. */
	remove_engine(CPU);
	set_speed(MT, 4, 5000, 100000);
	run(10, 3);
	assert_choice(CPU, 1);
}

static void test_first_sample_decides(void **state)
{
	set_speed(MT, 4, 5000, 100000);
	run(1, 3);
	assert_choice(MT, 4);
	run(300, 3);
	assert_choice(MT, 4);
	assert_int_equal(policy.changes, 1);
}

/* Nothing came: there is nothing to go by, and no hurry. */
static void test_no_batches_no_change(void **state)
{
	struct foliolift_load load = load_of(0, 512, 3);

	set_speed(MT, 4, 5000, 100000);
	step(&load);
	assert_choice(CPU, 1);
}

static void test_wide_enough_is_enough(void **state)
{
	set_speed(MT, 2, 4000, 160000);
	set_speed(MT, 4, 4000, 100000);
	set_speed(MT, 8, 4000, 99200);
	run(10, 31);
	assert_choice(MT, 4);
	set_speed(MT, 8, 4000, 60000);
	run(30, 31);
	assert_choice(MT, 8);
	/* A width goes, and there are others. */
	set_speed(MT, 8, 0, 0);
	run(1, 31);
	assert_choice(MT, 4);
	assert_int_equal(policy.fallbacks, 0);
}

/* One thread of mt is the CPU, whatever was measured. */
static void test_one_thread_is_the_cpu(void **state)
{
	set_speed(MT, 1, 0, 250000);
	run(50, 3);
	assert_choice(CPU, 1);
}

static void test_alike_leaves_cpus_free(void **state)
{
	set_speed(MT, 4, 4000, 100000);
	set_speed(DMA, 4, 4000, 100300);
	run(10, 3);
	assert_choice(DMA, 4);
	/* The same when threads were there first. */
	begin(state);
	set_speed(MT, 4, 4000, 100000);
	run(20, 3);
	assert_choice(MT, 4);
	set_speed(DMA, 4, 4000, 100300);
	run(20, 3);
	assert_choice(DMA, 4);
}

static void test_min_pages_is_the_break_even(void **state)
{
	/* 20 us more to begin with, 200 ns less a page. */
	set_speed(MT, 4, 20300, 100000);
	run(10, 3);
	assert_choice(MT, 4);
	assert_in_range(policy.now.min_pages, 99, 103);
	/* Threads are not worth waking for a few pages, channels may be. */
	begin(state);
	set_speed(MT, 4, 1300, 100000);
	run(10, 3);
	assert_int_equal(policy.now.min_pages, 32);
	begin(state);
	set_speed(DMA, 4, 1300, 100000);
	run(10, 3);
	assert_in_range(policy.now.min_pages, 5, 7);
}

/* What is only good for batches that never come is no good. */
static void test_useless_start(void **state)
{
	set_speed(DMA, 1, 800000, 100000);
	run(50, 0);
	assert_choice(CPU, 1);
}

static void test_slower_than_a_thread_is_not_chosen(void **state)
{
	set_speed(DMA, 4, 0, 303000);
	set_speed(MT, 4, 0, 300000);
	run(50, 3);
	assert_choice(CPU, 1);
}

/* The engine is calibrated anew, and it has become slower than the CPU, if by little. */
static void test_slower_than_a_thread_is_left(void **state)
{
	set_speed(DMA, 4, 1000, 150000);
	run(50, 0);
	assert_choice(DMA, 4);
	set_speed(DMA, 4, 1000, 301000);
	run(1, 0);
	assert_choice(CPU, 1);
	assert_int_equal(policy.fallbacks, 1);
}

static void test_the_test_role_is_not_chosen(void **state)
{
	set_speed(FOLIOLIFT_ROLE_TEST, 4, 0, 1000);
	run(50, 3);
	assert_choice(CPU, 1);
}

static void test_busy_cpus_cannot_help(void **state)
{
	set_speed(MT, 4, 5000, 100000);
	set_speed(MT, 2, 5000, 160000);
	run(50, 0);
	assert_choice(CPU, 1);
	assert_int_equal(policy.changes, 0);
	/* Idle now: at once. */
	run(2, 3);
	assert_choice(MT, 4);
	/* Busy for good: back to what needs nobody. */
	run(200, 0);
	assert_choice(CPU, 1);
}

static void test_busy_channels_are_shunned(void **state)
{
	struct foliolift_load load = load_of(100, 512, 3);

	set_speed(MT, 4, 5000, 100000);
	set_speed(DMA, 4, 5000, 70000);
	load.dma_busy = 98;
	step(&load);
	step(&load);
	assert_choice(MT, 4);
}

static void test_declining_engine_is_left(void **state)
{
	struct foliolift_load load = load_of(100, 512, 3);
	unsigned int i;

	set_speed(MT, 4, 5000, 100000);
	set_speed(DMA, 4, 5000, 70000);
	run(10, 3);
	assert_choice(DMA, 4);
	/* Nobody told that it is busy. */
	load.dma_declined = 100;
	for (i = 0; i < 10; i++)
		step(&load);
	assert_choice(MT, 4);
	/* And it is not forgotten the next moment. */
	run(100, 3);
	assert_choice(MT, 4);
}

/* An engine that takes longer than was calculated is held to that. */
static void test_slow_engine_is_left(void **state)
{
	struct foliolift_load load = load_of(100, 512, 3);
	unsigned int i;

	set_speed(MT, 4, 5000, 100000);
	set_speed(DMA, 4, 5000, 120000);
	run(1, 3);
	assert_choice(MT, 4);
	load.copied_batches = 100;
	load.copied_pages = 51200;
	load.copied_ns = 51200 * 220ull;
	for (i = 0; i < 20; i++)
		step(&load);
	assert_choice(DMA, 4);
}

/* Slow waves of 1 % around equal costs: whatever is in use stays. */
static void test_nothing_moves_around_a_tie(void **state)
{
	unsigned int i;

	set_speed(DMA, 4, 4000, 100000);
	set_speed(MT, 4, 4000, 100000);
	for (i = 0; i < 1200; i++) {
		set_speed(MT, 4, 4000, i % 120 < 60 ? 98800 : 100800);
		run(1, 3);
	}
	assert_true(policy.changes <= 2);
}

/* Batch after batch just above and below break-even. */
static void test_nothing_moves_around_break_even(void **state)
{
	unsigned int i, changed = 0;

	set_speed(MT, 4, 10300, 100000);
	for (i = 0; i < 600; i++) {
		struct foliolift_load load = load_of(1000, i % 20 < 10 ? 48 : 54, 3);
		unsigned long before = policy.now.min_pages;

		step(&load);
		changed += policy.now.min_pages != before;
	}
	assert_true(policy.changes <= 1);
	assert_true(changed <= 2);
}

/* Time and again the other engine is replaced by one that beats what is in use. */
static void test_changes_are_rationed(void **state)
{
	unsigned int page_ps = 290000, i;

	set_speed(MT, 4, 1000, page_ps);
	for (i = 0; i < 50; i++) {
		enum foliolift_role other = policy.now.role == MT ? DMA : MT;

		remove_engine(other);
		run(2, 3);
		page_ps = page_ps / 5 * 4;
		set_speed(other, 4, 1000, page_ps);
		/* Here it is counted against the time. */
		run(1, 3);
	}
	assert_in_range(policy.changes, 10, 50 * 3 / 10 + FOLIOLIFT_CHANGES_SAVED + 1);
}

static void test_lost_engine_is_left_at_once(void **state)
{
	unsigned int i;

	set_speed(MT, 4, 5000, 100000);
	set_speed(DMA, 4, 5000, 50000);
	run(50, 3);
	assert_choice(DMA, 4);
	remove_engine(DMA);
	run(1, 3);
	assert_choice(CPU, 1);
	run(1, 3);
	assert_choice(MT, 4);
	/* It comes and goes: not trusted until it has stayed. */
	for (i = 0; i < 20; i++) {
		set_speed(DMA, 4, 5000, 50000);
		run(10, 3);
		assert_choice(MT, 4);
		remove_engine(DMA);
		run(1, 3);
	}
	set_speed(DMA, 4, 5000, 50000);
	run(FOLIOLIFT_TRUST_MS / 100 + 10, 3);
	assert_choice(DMA, 4);
	assert_int_equal(policy.fallbacks, 1);
}

/* Hours with the CPU are no reason to be slow when an engine comes at last. */
static void test_new_engine_is_welcome(void **state)
{
	run(2000, 3);
	set_speed(MT, 4, 5000, 100000);
	run(1, 3);
	assert_choice(MT, 4);
	set_speed(DMA, 4, 5000, 60000);
	run(10, 3);
	assert_choice(DMA, 4);
}

static void test_long_pause(void **state)
{
	set_speed(MT, 4, 5000, 80000);
	set_speed(DMA, 4, 5000, 150000);
	run(300, 3);
	assert_choice(MT, 4);
	now_ms += 3600000;
	/* What was an hour ago does not outweigh what is. */
	run(25, 0);
	assert_choice(DMA, 4);
}

static void random_speed(struct rng *rng, struct foliolift_speed *speed)
{
	speed->start_ns = rng_next(rng) >> (32 + rng_below(rng, 32));
	speed->page_ps = rng_percent(rng, 30) ? 0 :
			 rng_next(rng) >> (32 + rng_below(rng, 32));
}

static void random_load(struct rng *rng, struct foliolift_load *load)
{
	unsigned int i;

	for (i = 0; i < FOLIOLIFT_NR_SIZES; i++) {
		if (rng_percent(rng, 50))
			continue;
		load->batches[i] = rng_next(rng) >> rng_below(rng, 64);
		load->pages[i] = rng_percent(rng, 80) ? load->batches[i] << i :
				 rng_next(rng);
	}
	load->idle_16ths = rng_next(rng) >> (32 + rng_below(rng, 32));
	load->dma_busy = rng_below(rng, 120);
	load->dma_declined = rng_next(rng) >> (32 + rng_below(rng, 32));
	load->copied_batches = rng_next(rng) >> rng_below(rng, 64);
	load->copied_pages = rng_next(rng) >> rng_below(rng, 64);
	load->copied_ns = rng_next(rng) >> rng_below(rng, 64);
}

static void test_random(void **state)
{
	struct rng rng = { model_seed() };
	unsigned int rounds = model_rounds(300), i, j, role, width;
	unsigned int changes = 0, fallbacks = 0;

	for (i = 0; i < rounds; i++) {
		begin(NULL);
		for (j = 0; j < 400; j++) {
			struct foliolift_load load = { 0 };

			if (!j || rng_percent(&rng, 5))
				for (role = 0; role < FOLIOLIFT_NR_ROLES; role++)
					for (width = 0; width < FOLIOLIFT_NR_WIDTHS; width++)
						random_speed(&rng, &speeds.of[role][width]);
			if (rng_percent(&rng, 5))
				remove_engine(rng_below(&rng, FOLIOLIFT_NR_ROLES));
			random_load(&rng, &load);
			now_ms += rng_percent(&rng, 90) ? 100 :
				  rng_next(&rng) >> (24 + rng_below(&rng, 40));
			sim_step(&check, &policy, &speeds, &load, now_ms);
		}
		changes += policy.changes;
		fallbacks += policy.fallbacks;
	}
	/* It was a test. */
	assert_true(changes > rounds && fallbacks > rounds);
}

#define TEST(name)	cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_begins_with_the_cpu),
		TEST(test_first_sample_decides),
		TEST(test_no_batches_no_change),
		TEST(test_wide_enough_is_enough),
		TEST(test_one_thread_is_the_cpu),
		TEST(test_alike_leaves_cpus_free),
		TEST(test_min_pages_is_the_break_even),
		TEST(test_useless_start),
		TEST(test_slower_than_a_thread_is_not_chosen),
		TEST(test_slower_than_a_thread_is_left),
		TEST(test_the_test_role_is_not_chosen),
		TEST(test_busy_cpus_cannot_help),
		TEST(test_busy_channels_are_shunned),
		TEST(test_declining_engine_is_left),
		TEST(test_slow_engine_is_left),
		TEST(test_nothing_moves_around_a_tie),
		TEST(test_nothing_moves_around_break_even),
		TEST(test_changes_are_rationed),
		TEST(test_lost_engine_is_left_at_once),
		TEST(test_new_engine_is_welcome),
		TEST(test_long_pause),
		TEST(test_random),
	};

	return run_group("policy", tests, model_start, NULL);
}
