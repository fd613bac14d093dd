// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: what recent batches would have cost with each engine, for the policy
 *
 * Costs are remembered, not loads.  A load that comes and goes too fast to be
 * followed then leads to what is best for the mixture, and not to what would be best
 * for an average that never was.
 *
 * What an engine would cost is taken from its calibration and the average load, which
 * flatters it: four CPUs idle half of the time are not two, and batches may come just
 * when nobody is idle.  So the engine in use is held to the time that it takes.  One
 * that disappoints is remembered to, and tried again when that has faded.
 */
#include "deps.h"
#include "policy.h"

/* What a sample weighs: 2^-5 in a cost, 2^-8 in a past one, 2^-4 in slowness. */
#define COST_SHIFT	5
#define PAST_SHIFT	8
#define RECENT		16
/* A pause of so long ages what is remembered like a sample. */
#define AGE_MS		1000
#define MAX_AGES	32
/* A width is taken if within 1.5 % of the best, given up if half a percent suffices. */
#define LOOSE		15
#define TIGHT		5
/* No sample costs more than that, 11 days, so that what is remembered of them fits. */
#define MAX_NS		1000000000000000ULL
/* How long disappointments are remembered, and the worst of them. */
#define FORGET_DECLINED_MS	60000
#define FORGET_SLOWNESS_MS	180000
#define MAX_SLOWNESS	(16ULL * FOLIOLIFT_ONE)

/* ----- speeds ----- */

/* @a times @b by @c, or as much as there is: a larger quotient traps on x86. */
static u64 foliolift_scale(u64 a, u64 b, u64 c)
{
	c = max(c, 1ULL);
	if (mul_u64_u64_shr(a, b, 64) >= c)
		return U64_MAX;
	return mul_u64_u64_div_u64(a, b, c);
}

/* The pages from which on an engine is faster than @cpu; ULONG_MAX: never. */
static unsigned long foliolift_break_even(const struct foliolift_speed *cpu,
					  u32 start_ns, u64 page_ps)
{
	if (page_ps >= cpu->page_ps)
		return ULONG_MAX;
	if (start_ns <= cpu->start_ns)
		return 0;
	return div_u64((start_ns - cpu->start_ns) * 1000ULL,
		       cpu->page_ps - page_ps) + 1;
}

static unsigned long foliolift_bounded(enum foliolift_role role, unsigned long pages)
{
	static const unsigned int least[FOLIOLIFT_ROLE_TEST] = {
		[FOLIOLIFT_ROLE_CPU] = FOLIOLIFT_MIN_PAGES_CPU,
		[FOLIOLIFT_ROLE_MT] = FOLIOLIFT_MIN_PAGES_MT,
		[FOLIOLIFT_ROLE_DMA] = FOLIOLIFT_MIN_PAGES_DMA,
	};

	if (role == FOLIOLIFT_ROLE_CPU)
		return FOLIOLIFT_MIN_PAGES_CPU;
	return clamp_t(unsigned long, pages, least[role], FOLIOLIFT_MAX_MIN_PAGES);
}

/*
 * Is there such an engine, and is it faster than one thread when nothing is in its
 * way?  One thread of mt is what cpu is, with more ado.
 */
static bool foliolift_usable(const struct foliolift_speeds *speeds,
			     enum foliolift_role role, unsigned int i)
{
	const struct foliolift_speed *cpu = speeds->of[FOLIOLIFT_ROLE_CPU];
	const struct foliolift_speed *of = &speeds->of[role][i];

	if (!of->page_ps || !cpu->page_ps)
		return false;
	if (role == FOLIOLIFT_ROLE_CPU)
		return i == 0;
	if (role == FOLIOLIFT_ROLE_MT && i == 0)
		return false;
	return foliolift_break_even(cpu, of->start_ns, of->page_ps) <=
	       FOLIOLIFT_MAX_MIN_PAGES;
}

/*
 * The time of a page with @n16 sixteenths of a thread or channel; one of them takes
 * @one_ps.  It is time that is interpolated, not speed: an average of one and a half
 * means that it was one and two in turn.
 */
static u32 foliolift_page_at(const struct foliolift_speed *of, u32 one_ps,
			     unsigned int n16)
{
	unsigned int low = 16, high, i;
	u32 ps = one_ps;

	for (i = 1; i < FOLIOLIFT_NR_WIDTHS && n16 > low; i++) {
		if (!of[i].page_ps)
			continue;
		high = 16U << i;
		if (n16 < high)
			return div_u64((u64)ps * (high - n16) +
				       (u64)of[i].page_ps * (n16 - low),
				       high - low);
		low = high;
		ps = of[i].page_ps;
	}
	return ps;
}

/* What a sample says of the DMA channels. */
struct foliolift_channels {
	unsigned int free_16ths;
	unsigned int declined;	/* in 1024ths */
};

/*
 * While batches go to the engine it is known how many it declines.  Otherwise it is
 * what the channels' load lets one expect if they are busy independently, but no less
 * than what is remembered: whoever is in the way may be one that nobody sees.
 */
static struct foliolift_channels
foliolift_channels(const struct foliolift_policy *policy,
		   const struct foliolift_speeds *speeds,
		   const struct foliolift_load *load)
{
	unsigned int busy = min(load->dma_busy, 100U), nr = 1, i;
	struct foliolift_channels channels;
	unsigned int all_busy = 1024;

	for (i = 1; i < FOLIOLIFT_NR_WIDTHS; i++)
		if (speeds->of[FOLIOLIFT_ROLE_DMA][i].page_ps)
			nr = 1U << i;
	for (i = 0; i < nr; i++)
		all_busy = all_busy * busy / 100;
	channels.declined = policy->declined / (FOLIOLIFT_ONE / 1024);
	if (policy->now.role != FOLIOLIFT_ROLE_DMA)
		channels.declined = max(channels.declined, all_busy);
	/* The average of those times when there is one. */
	channels.free_16ths = nr * 16 * (100 - busy) / 100 * 1024 /
			      (1025 - channels.declined);
	channels.free_16ths = clamp(channels.free_16ths, 16U, 16 * nr);
	return channels;
}

/* The speed of @role at the width that suits it, under the load that there was. */
static struct foliolift_speed
foliolift_loaded(const struct foliolift_policy *policy,
		 const struct foliolift_speeds *speeds,
		 const struct foliolift_load *load, enum foliolift_role role,
		 unsigned int i, unsigned int free_16ths)
{
	const struct foliolift_speed *of = speeds->of[role];
	struct foliolift_speed speed = of[i];

	if (role == FOLIOLIFT_ROLE_MT)
		speed.page_ps =
			foliolift_page_at(of, speeds->of[FOLIOLIFT_ROLE_CPU][0].page_ps,
					  min(16U << i, min(load->idle_16ths, 512U) + 16));
	else if (role == FOLIOLIFT_ROLE_DMA)
		speed.page_ps =
			foliolift_page_at(of, of[0].page_ps ?: speed.page_ps,
					  min(16U << i, free_16ths));
	return speed;
}

/* ----- costs of a sample ----- */

/* What came, bounded to what can come in a sample, so that times 1024 it still fits. */
static u64 foliolift_batches(const struct foliolift_load *load, unsigned int i)
{
	return min(load->batches[i], 1UL << 20);
}

static u64 foliolift_pages(const struct foliolift_load *load, unsigned int i)
{
	return min(load->pages[i], 1UL << 24);
}

static u64 foliolift_batches_ns(const struct foliolift_speed *speed, u64 batches,
				u64 pages)
{
	return batches * speed->start_ns + div_u64(pages * speed->page_ps, 1000);
}

/* Would the batches of size class @i go to an engine that begins at @min_pages? */
static bool foliolift_large(const struct foliolift_load *load, unsigned int i,
			    unsigned long min_pages)
{
	return foliolift_pages(load, i) >= foliolift_batches(load, i) * min_pages;
}

/* Who copies the batches of a sample. */
struct foliolift_share {
	const struct foliolift_speed *cpu;
	const struct foliolift_speed *engine;
	unsigned long min_pages;	/* from here on the engine ... */
	unsigned int declined;		/* ... but for so many 1024ths */
	u32 cpu_slowness, slowness;	/* as in struct foliolift_policy */
};

/* What the batches of a sample cost. */
static u64 foliolift_load_ns(const struct foliolift_load *load,
			     const struct foliolift_share *share)
{
	u64 ns = 0, taken = 0;
	unsigned int i;

	for (i = 0; i < FOLIOLIFT_NR_SIZES; i++) {
		u64 batches = foliolift_batches(load, i);
		u64 pages = foliolift_pages(load, i);
		u64 by_cpu = foliolift_batches_ns(share->cpu, batches, pages);

		if (!foliolift_large(load, i, share->min_pages)) {
			ns += by_cpu;
			continue;
		}
		ns += by_cpu * share->declined / 1024;
		taken += foliolift_batches_ns(share->engine, batches, pages) *
			 (1024 - share->declined) / 1024;
	}
	return foliolift_scale(ns, share->cpu_slowness, FOLIOLIFT_ONE) +
	       foliolift_scale(taken, share->slowness, FOLIOLIFT_ONE);
}

/* ----- what is remembered ----- */

/* Keep count of what the DMA engine declines. */
static void foliolift_note_declined(struct foliolift_policy *policy,
				    const struct foliolift_load *load, u64 ms)
{
	u64 sent = load->copied_batches + load->dma_declined;

	if (policy->now.role != FOLIOLIFT_ROLE_DMA || !sent)
		policy->declined -= div_u64(policy->declined *
					    min_t(u64, ms, FORGET_DECLINED_MS),
					    FORGET_DECLINED_MS);
	else
		policy->declined = div64_u64((u64)load->dma_declined * FOLIOLIFT_ONE,
					     sent);
}

/*
 * Hold the engine in use, that should have taken @expected_ns, to what it took.  Sums
 * are compared, so that a few small batches do not speak for many large ones.
 */
static void foliolift_note_slowness(struct foliolift_policy *policy,
				    const struct foliolift_load *load,
				    u64 expected_ns, enum foliolift_role role, u64 ms)
{
	u64 *expected = &policy->expected_ns[role], *took = &policy->took_ns[role];

	if (role == policy->now.role && load->copied_ns && expected_ns) {
		*expected += expected_ns - *expected / RECENT;
		*took += min_t(u64, load->copied_ns, 16 * expected_ns) -
			 *took / RECENT;
	} else if (*took > *expected) {
		*took -= foliolift_scale(*took - *expected,
					 min_t(u64, ms, FORGET_SLOWNESS_MS),
					 FORGET_SLOWNESS_MS);
	}
	policy->slowness[role] = FOLIOLIFT_ONE;
	if (*took > *expected && *expected)
		policy->slowness[role] =
			min(foliolift_scale(*took, FOLIOLIFT_ONE, *expected),
			    MAX_SLOWNESS);
}

/*
 * Add @ns, of this sample, to the @cost of the past.  Of an engine that is new it is
 * assumed that it would always have been to the CPU what it is now: the CPU's cost,
 * this sample included, is @cpu_cost, and @cpu_ns are this sample's part.
 */
static void foliolift_add(u64 *cost, u64 ns, unsigned int ages, unsigned int shift,
			  u64 cpu_cost, u64 cpu_ns)
{
	ns = clamp(ns, 1ULL, MAX_NS);
	if (!*cost && cpu_cost) {
		*cost = max(foliolift_scale(cpu_cost, ns, cpu_ns), 1ULL);
		*cost = min(*cost, MAX_NS << PAST_SHIFT);
		return;
	}
	while (ages--)
		*cost -= *cost >> shift;
	*cost += ns;
}

/* The narrowest width whose cost is at most so many 1000ths above that of @best. */
static unsigned int foliolift_narrowest(const u64 *cost, unsigned int best,
					unsigned int above)
{
	u64 most = cost[best] + div_u64(cost[best], 1000) * above;
	unsigned int i;

	for (i = 0; i < best; i++)
		if (cost[i] && cost[i] <= most)
			break;
	return i;
}

/*
 * Which width is best for the sizes of the batches?  Load is no matter: only threads
 * and channels that are free are ever taken.  More than what helps are taken from
 * others, though.  Between the narrowest width that will do and the narrowest that is
 * nearly best, it stays what it is.
 */
static unsigned int foliolift_width(const u64 *cost, unsigned int width)
{
	unsigned int best = FOLIOLIFT_NR_WIDTHS, low, high, i;

	for (i = 0; i < FOLIOLIFT_NR_WIDTHS; i++)
		if (cost[i] && (best == FOLIOLIFT_NR_WIDTHS || cost[i] < cost[best]))
			best = i;
	if (best == FOLIOLIFT_NR_WIDTHS)
		return best;
	low = foliolift_narrowest(cost, best, LOOSE);
	high = foliolift_narrowest(cost, best, TIGHT);
	width = width < FOLIOLIFT_NR_WIDTHS ? clamp(width, low, high) : low;
	return cost[width] ? width : low;
}

/* Add a sample to what is known of @role's widths on an idle machine. */
static void foliolift_account_widths(struct foliolift_policy *policy,
				     const struct foliolift_speeds *speeds,
				     const struct foliolift_load *load,
				     enum foliolift_role role, u64 cpu_ns,
				     unsigned int ages)
{
	struct foliolift_share share = {
		.cpu = speeds->of[FOLIOLIFT_ROLE_CPU],
		.cpu_slowness = FOLIOLIFT_ONE,
		.slowness = FOLIOLIFT_ONE,
	};
	unsigned int i;

	for (i = 0; i < FOLIOLIFT_NR_WIDTHS; i++) {
		const struct foliolift_speed *of = &speeds->of[role][i];
		u64 *cost = &policy->idle_cost[role][i];
		unsigned long pages;
		u64 ns;

		if (!foliolift_usable(speeds, role, i)) {
			*cost = 0;
			continue;
		}
		if (!cpu_ns)
			continue;
		pages = foliolift_break_even(share.cpu, of->start_ns, of->page_ps);
		share.engine = of;
		share.min_pages = foliolift_bounded(role, pages);
		ns = foliolift_load_ns(load, &share);
		foliolift_add(cost, ns, ages, COST_SHIFT,
			      policy->idle_cost[FOLIOLIFT_ROLE_CPU][0], cpu_ns);
	}
	policy->width[role] = foliolift_width(policy->idle_cost[role],
					      policy->width[role]);
}

/* Add a sample to what is known of @role, which copied as it did under load. */
static void foliolift_account_role(struct foliolift_policy *policy,
				   const struct foliolift_speeds *speeds,
				   const struct foliolift_load *load,
				   enum foliolift_role role, u64 cpu_ns, u64 ms,
				   unsigned int ages)
{
	struct foliolift_channels channels = { 0 };
	struct foliolift_share share;
	u32 *page_ps = &policy->page_ps[role];
	u64 *cost = &policy->cost[role], *past = &policy->past_cost[role];
	struct foliolift_speed speed;
	u64 ns;

	if (policy->width[role] == FOLIOLIFT_NR_WIDTHS) {
		*cost = 0;
		*past = 0;
		*page_ps = 0;
		policy->expected_ns[role] = 0;
		policy->took_ns[role] = 0;
		return;
	}
	if (role == FOLIOLIFT_ROLE_DMA)
		channels = foliolift_channels(policy, speeds, load);
	speed = foliolift_loaded(policy, speeds, load, role, policy->width[role],
				 channels.free_16ths);
	ns = foliolift_batches_ns(&speed, min(load->copied_batches, 1UL << 24),
				  min(load->copied_pages, 1UL << 28));
	foliolift_note_slowness(policy, load, ns, role, ms);
	if (*page_ps)
		*page_ps += ((s64)speed.page_ps - *page_ps) / (1 << COST_SHIFT);
	else
		*page_ps = speed.page_ps;
	if (!cpu_ns)
		return;

	share = (struct foliolift_share) {
		.cpu = speeds->of[FOLIOLIFT_ROLE_CPU],
		.engine = &speed,
		.min_pages = foliolift_policy_min_pages(policy, speeds, role),
		.declined = channels.declined,
		.cpu_slowness = max(policy->slowness[FOLIOLIFT_ROLE_CPU], FOLIOLIFT_ONE),
		.slowness = policy->slowness[role],
	};
	ns = foliolift_load_ns(load, &share);
	if (role == FOLIOLIFT_ROLE_CPU)
		policy->cpu_ns = ns;
	if (!*cost)
		policy->excused = true;
	foliolift_add(cost, ns, ages, COST_SHIFT,
		      policy->cost[FOLIOLIFT_ROLE_CPU], policy->cpu_ns);
	foliolift_add(past, ns, ages, PAST_SHIFT,
		      policy->past_cost[FOLIOLIFT_ROLE_CPU], policy->cpu_ns);
	if (role == policy->now.role)
		foliolift_add(&policy->own_cost, ns, ages, PAST_SHIFT, 0, 0);
}

/**
 * foliolift_policy_min_pages() - From which size on is an engine worth its start?
 * @policy:	What is remembered.
 * @speeds:	What is known of the engines.
 * @role:	The engine.
 *
 * Return: Pages, within the bounds of the role.
 */
unsigned long foliolift_policy_min_pages(const struct foliolift_policy *policy,
					 const struct foliolift_speeds *speeds,
					 enum foliolift_role role)
{
	u64 page_ps = foliolift_scale(policy->page_ps[role],
				      policy->slowness[role], FOLIOLIFT_ONE);
	unsigned int i = policy->width[role];
	unsigned long pages = 0;

	if (i < FOLIOLIFT_NR_WIDTHS)
		pages = foliolift_break_even(speeds->of[FOLIOLIFT_ROLE_CPU],
					     speeds->of[role][i].start_ns, page_ps);
	return foliolift_bounded(role, pages);
}

/**
 * foliolift_policy_account() - Add a sample to what is remembered.
 * @policy:	What is remembered.
 * @speeds:	What is known of the engines now.
 * @load:	The sample.
 * @ms:		Time since the last one.
 */
void foliolift_policy_account(struct foliolift_policy *policy,
			      const struct foliolift_speeds *speeds,
			      const struct foliolift_load *load, u64 ms)
{
	const struct foliolift_speed *cpu = speeds->of[FOLIOLIFT_ROLE_CPU];
	unsigned int ages = 1 + min_t(u64, div_u64(ms, AGE_MS), MAX_AGES);
	const struct foliolift_share alone = {
		.cpu = cpu, .engine = cpu, .slowness = FOLIOLIFT_ONE,
	};
	u64 cpu_ns = foliolift_load_ns(load, &alone);
	enum foliolift_role role;

	foliolift_note_declined(policy, load, ms);
	/* The CPU first: the others are measured by it. */
	for (role = FOLIOLIFT_ROLE_CPU; role < FOLIOLIFT_ROLE_TEST; role++) {
		foliolift_account_widths(policy, speeds, load, role, cpu_ns, ages);
		foliolift_account_role(policy, speeds, load, role, cpu_ns, ms, ages);
	}
}
