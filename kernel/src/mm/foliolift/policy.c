// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: which engine copies, how wide, and from which size of batch on
 *
 * Each sample tells what batches came and how idle CPUs and channels were; from that
 * policy-cost.c reckons what the same batches would have cost with every engine.  The
 * choice follows whichever was the cheapest over the last three seconds or so.  What
 * was chosen plays no part in what the others would have cost, so that a choice is
 * never the reason for the next one.
 */
#include "deps.h"
#include "policy.h"

/* The 1000ths that the changes so far may have cost, see foliolift_costs(). */
#define PATIENCE	10
/* With each change that is not saved up the next needs so much more, in 1000ths. */
#define SCARCE		15

/*
 * What a change has to gain, in 1000ths of the cost: [from][to].  Whichever leaves
 * more CPUs to others (dma, cpu, mt, in this order) may even lose a little.  Around
 * every circle the sum is well above nought, so constant speeds and loads cannot make
 * the choice go round.
 */
static const int foliolift_margin[FOLIOLIFT_ROLE_TEST][FOLIOLIFT_ROLE_TEST] = {
	[FOLIOLIFT_ROLE_CPU][FOLIOLIFT_ROLE_MT] = 20,
	[FOLIOLIFT_ROLE_CPU][FOLIOLIFT_ROLE_DMA] = 15,
	[FOLIOLIFT_ROLE_MT][FOLIOLIFT_ROLE_CPU] = -5,
	[FOLIOLIFT_ROLE_MT][FOLIOLIFT_ROLE_DMA] = -5,
	[FOLIOLIFT_ROLE_DMA][FOLIOLIFT_ROLE_CPU] = 15,
	[FOLIOLIFT_ROLE_DMA][FOLIOLIFT_ROLE_MT] = 25,
};

/*
 * Is @role there to stay?  One that comes and goes would have each of its goings end
 * in the CPU, and use up the changes that would lead to something better.
 */
static bool foliolift_trusted(const struct foliolift_policy *policy,
			      enum foliolift_role role)
{
	return !policy->lost[role] ||
	       policy->sampled_ms - policy->since_ms[role] >= FOLIOLIFT_TRUST_MS;
}

/*
 * The costs to choose by.  A load that changes every few seconds can lead whoever
 * follows it to be always late, and worse off than with what is in force now all the
 * time.  If that is how it went, go by the longer memory, in which such a load is a
 * mixture, and be as reluctant to change as changing has cost: that is @loss.
 */
static const u64 *foliolift_costs(const struct foliolift_policy *policy, s64 *loss)
{
	u64 past = policy->past_cost[policy->now.role];

	*loss = 0;
	if (policy->own_cost <= past + div_u64(past, 1000) * PATIENCE)
		return policy->cost;
	*loss = policy->own_cost - past;
	return policy->past_cost;
}

/* Is a change of role called for, and to which? */
static enum foliolift_role foliolift_role(const struct foliolift_policy *policy)
{
	enum foliolift_role from = policy->now.role, to, choice = from;
	unsigned int spent = FOLIOLIFT_CHANGES_SAVED -
			     policy->saved_ms / FOLIOLIFT_CHANGE_MS;
	s64 cost, loss, gain, surplus, best = 0;
	const u64 *costs = foliolift_costs(policy, &loss);

	cost = costs[from];

	for (to = 0; to < FOLIOLIFT_ROLE_TEST; to++) {
		int margin = foliolift_margin[from][to];

		if (to == from || !costs[to] ||
		    !foliolift_trusted(policy, to))
			continue;
		gain = cost - (s64)costs[to];
		if (margin > 0 && gain < 2 * FOLIOLIFT_CHANGE_NS)
			continue;
		surplus = gain - loss - div_s64(cost, 1000) *
				 (margin + (int)(spent * SCARCE));
		if (surplus > best) {
			best = surplus;
			choice = to;
		}
	}
	return choice;
}

static bool foliolift_may_change(const struct foliolift_policy *policy, u64 now_ms)
{
	return policy->saved_ms >= FOLIOLIFT_CHANGE_MS &&
	       (!policy->changes ||
		now_ms - policy->changed_ms >= FOLIOLIFT_DWELL_MS);
}

/* Put @role in force, at the width and from the size that suit it now. */
static void foliolift_set(struct foliolift_policy *policy,
			  const struct foliolift_speeds *speeds,
			  enum foliolift_role role)
{
	struct foliolift_choice *now = &policy->now;
	unsigned long pages = foliolift_policy_min_pages(policy, speeds, role);
	unsigned int width = 1;

	if (policy->width[role] < FOLIOLIFT_NR_WIDTHS)
		width <<= policy->width[role];
	/* A new number for each tremble of the load would be of no use to anyone. */
	if (role != now->role || width != now->width ||
	    pages > now->min_pages + now->min_pages / 16 ||
	    pages + now->min_pages / 16 < now->min_pages)
		now->min_pages = pages;
	now->role = role;
	now->width = width;
}

/**
 * foliolift_policy_init() - Begin with the CPU.
 * @policy:	What to set up.
 */
void foliolift_policy_init(struct foliolift_policy *policy)
{
	*policy = (struct foliolift_policy) {
		.now = {
			.role = FOLIOLIFT_ROLE_CPU,
			.width = 1,
			.min_pages = FOLIOLIFT_MIN_PAGES_CPU,
		},
		.width = { 0, FOLIOLIFT_NR_WIDTHS, FOLIOLIFT_NR_WIDTHS },
		.saved_ms = FOLIOLIFT_CHANGES_SAVED * FOLIOLIFT_CHANGE_MS,
	};
}

/**
 * foliolift_policy_step() - Take in a sample, and decide.
 * @policy:	What is remembered; policy->now is the choice.
 * @speeds:	What is known of the engines now.
 * @load:	What happened since the last step.
 * @now_ms:	The time, which never goes back.
 *
 * Every 100 ms or so while folios migrate; not at all while none do.
 *
 * Context: Any; the caller lets no two steps run at once.
 * Return: Whether the choice is another one than before.
 */
bool foliolift_policy_step(struct foliolift_policy *policy,
			   const struct foliolift_speeds *speeds,
			   const struct foliolift_load *load, u64 now_ms)
{
	const struct foliolift_choice old = policy->now;
	u64 ms = now_ms - policy->sampled_ms;
	enum foliolift_role role;

	policy->sampled_ms = now_ms;
	policy->saved_ms = min_t(u64, policy->saved_ms + ms,
				 FOLIOLIFT_CHANGES_SAVED * FOLIOLIFT_CHANGE_MS);
	foliolift_policy_account(policy, speeds, load, ms);

	for (role = 0; role < FOLIOLIFT_ROLE_TEST; role++)
		if (policy->width[role] == FOLIOLIFT_NR_WIDTHS)
			policy->since_ms[role] = now_ms;

	/* What is not there cannot wait for its turn. */
	if (old.role != FOLIOLIFT_ROLE_CPU &&
	    policy->width[old.role] == FOLIOLIFT_NR_WIDTHS) {
		policy->fallbacks++;
		policy->lost[old.role] = true;
		policy->excused = true;
		foliolift_set(policy, speeds, FOLIOLIFT_ROLE_CPU);
		return true;
	}

	role = foliolift_role(policy);
	if (role != old.role && foliolift_may_change(policy, now_ms)) {
		policy->changes++;
		if (policy->excused)
			policy->own_cost = policy->past_cost[role];
		policy->excused = false;
		policy->own_cost += FOLIOLIFT_CHANGE_NS;
		policy->changed_ms = now_ms;
		policy->saved_ms -= FOLIOLIFT_CHANGE_MS;
	} else {
		role = old.role;
	}
	foliolift_set(policy, speeds, role);
	return policy->now.role != old.role || policy->now.width != old.width ||
	       policy->now.min_pages != old.min_pages;
}
