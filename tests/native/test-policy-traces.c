// SPDX-License-Identifier: GPL-2.0
/*
 * The policy on simulated machines and loads, against every fixed choice on the same
 * trace, in hindsight.  docs/policy.md tells the method.
 */
#include "cmocka-native.h"
#include "sim.h"

#define SEEDS		2
/*
 * The same ones each time, unless SEED says otherwise: a trace that is lost by a hair
 * with one seed in a thousand is for a survey to find, not for who changes a comment.
 */
#define FIXED_SEED	1
/* Calibration is wrong by up to so much, either way. */
#define NOISE		.01
#define LIMIT		1.05

static const char *const names[] = { "cpu", "mt", "dma" };

static void test_trace(void **state)
{
	const struct sim_trace *trace = *state;
	struct rng rng = { getenv("SEED") ? model_seed() : FIXED_SEED };
	unsigned int rounds = model_rounds(SEEDS), i;
	/* Only tell, to see what other numbers would do. */
	bool survey = getenv("SURVEY");

	for (i = 0; i < rounds; i++) {
		struct foliolift_choice best;
		struct sim_result result;
		double best_ms;
		struct sim sim;

		sim_init(&sim, trace, rng_next(&rng), NOISE);
		best_ms = sim_best_fixed(&sim, &best);
		result = sim_policy(&sim);
		sim_free(&sim);
		print_message("%-28s %6.0f ms, best is %-3s %2u %6.0f ms: %.3f; "
			      "changes %2u + %u; cpu %3.0f %% mt %3.0f %% dma %3.0f %%\n",
			      trace->name, result.ms, names[best.role], best.width,
			      best_ms, result.ms / best_ms, result.changes,
			      result.fallbacks, 100 * result.share[0],
			      100 * result.share[1], 100 * result.share[2]);
		if (survey)
			continue;
		if (result.ms > LIMIT * best_ms)
			fail_msg("%.1f %% worse than %s at width %u",
				 100 * (result.ms / best_ms - 1), names[best.role],
				 best.width);
		if (result.changes > trace->max_changes)
			fail_msg("%u changes of role", result.changes);
	}
}

int main(void)
{
	struct CMUnitTest tests[sim_nr_traces];
	unsigned int i;

	if (!getenv("SEED"))
		print_message("seed %u, as always (SEED=... takes another)\n", FIXED_SEED);
	for (i = 0; i < sim_nr_traces; i++)
		tests[i] = (struct CMUnitTest) {
			.name = sim_traces[i].name,
			.test_func = test_trace,
			.initial_state = (void *)&sim_traces[i],
		};
	return run_group("policy-traces", tests, model_start, NULL);
}
