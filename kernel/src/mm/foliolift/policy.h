/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which engine copies, and how wide: the decision alone.  No clock, no lock, no
 * allocation, no other part of the kernel: what goes in is in the arguments, so that
 * the same files run in user space against simulated loads.  Include deps.h first.
 */
#ifndef _MM_FOLIOLIFT_POLICY_H
#define _MM_FOLIOLIFT_POLICY_H

#include <linux/foliolift.h>

/*
 * An engine's width is its number of threads or channels: 1, 2, 4, ...
 * FOLIOLIFT_MAX_WIDTH.
 */
#define FOLIOLIFT_NR_WIDTHS	6

/* Batches are counted by size: 1 page, 2 to 3, 4 to 7, ... 2048 and more. */
#define FOLIOLIFT_NR_SIZES	12

/* Bounds of a choice's min_pages, by role; the largest is the default batch. */
#define FOLIOLIFT_MIN_PAGES_CPU	2
#define FOLIOLIFT_MIN_PAGES_MT	32
#define FOLIOLIFT_MIN_PAGES_DMA	2
#define FOLIOLIFT_MAX_MIN_PAGES	2048

/*
 * Bounds of how often the role changes of the policy's own free will: one change
 * earns so long a time, at most so many are saved up, and two are at least so far
 * apart.  In milliseconds.
 */
#define FOLIOLIFT_CHANGE_MS	1000
#define FOLIOLIFT_CHANGES_SAVED	3
#define FOLIOLIFT_DWELL_MS	250

/* An engine that was lost while it was in use has to stay so long to be chosen again. */
#define FOLIOLIFT_TRUST_MS	5000

/**
 * struct foliolift_speed - What a batch costs, as calibration found it.
 * @start_ns:	Time that a batch takes however small it is.
 * @page_ps:	Picoseconds for each page of it on top of that; 0: not measured, or
 *		the engine is not there.
 */
struct foliolift_speed {
	u32 start_ns;
	u32 page_ps;
};

/**
 * struct foliolift_speeds - All that is known of the engines.
 * @of:		By role, and by width: index i is a width of 2^i.  The role CPU has
 *		one width.  The test role is never chosen.
 */
struct foliolift_speeds {
	struct foliolift_speed of[FOLIOLIFT_NR_ROLES][FOLIOLIFT_NR_WIDTHS];
};

/**
 * struct foliolift_load - What happened since the last sample.
 * @batches:	Batches that came to the copy stage, copied by an engine or not, by
 *		foliolift_size_class().
 * @pages:	Base pages in them.
 * @idle_16ths:	Idle CPUs that could have helped, averaged over the time, in
 *		sixteenths of a CPU; without the ones that migrate.  The time that a
 *		CPU spent as a helper of ours counts as idle: what is asked for is
 *		what others leave, or the answer would depend on the choice made.
 * @dma_busy:	Percent of the time that the channels were at work for others than
 *		the copy stage, averaged over the channels, 0 to 100.
 * @dma_declined: Batches that the DMA engine declined for want of a free channel.
 * @copied_batches: Batches that the engine of the choice in force copied: not those
 *		below its min_pages, nor those that it declined.
 * @copied_pages: Base pages in them.
 * @copied_ns:	Time that the engine took for them.  0: it was not taken.
 */
struct foliolift_load {
	unsigned long batches[FOLIOLIFT_NR_SIZES];
	unsigned long pages[FOLIOLIFT_NR_SIZES];
	unsigned int idle_16ths;
	unsigned int dma_busy;
	unsigned int dma_declined;
	unsigned long copied_batches;
	unsigned long copied_pages;
	u64 copied_ns;
};

/* Where a batch of @nr_pages is counted in struct foliolift_load. */
static inline unsigned int foliolift_size_class(unsigned long nr_pages)
{
	unsigned int log = ilog2(nr_pages | 1);

	return min(log, FOLIOLIFT_NR_SIZES - 1U);
}

/**
 * struct foliolift_choice - What is decided.
 * @role:	The engine.
 * @width:	Threads or channels that it is to use, 1 to %FOLIOLIFT_MAX_WIDTH.
 * @min_pages:	Batches of fewer pages are left to the CPU.
 */
struct foliolift_choice {
	enum foliolift_role role;
	unsigned int width;
	unsigned long min_pages;
};

#define FOLIOLIFT_ONE	0x100000U

/**
 * struct foliolift_policy - What the policy remembers between samples.
 * @now:	The choice in force.
 * @changes:	Changes of role so far that were the policy's own will.
 * @fallbacks:	Changes of role because the engine was gone, or turned out to be
 *		slower than a CPU.
 * @idle_cost:	By role and width, what recent batches would have cost with it on an
 *		idle machine, in nanoseconds.  Recent is the last 32 samples or so:
 *		each sample takes a part off.  0: there is no such engine, or nothing
 *		is known.
 * @width:	By role, the width that follows from that, as an index.
 * @cost:	By role, what they would have cost at that width, under the load
 *		that there was.
 * @past_cost:	The same with a longer memory, 256 samples or so ...
 * @own_cost:	... and what they cost with the choices that were in force.
 * @excused:	An engine came or went: what it was like without it is no loss.
 * @cpu_ns:	The last sample's part in the cost of the CPU.
 * @page_ps:	By role, the time of a page under recent load.
 * @expected_ns: By role, what it should have taken for the batches that it copied
 *		lately ...
 * @took_ns:	... and what it took.
 * @slowness:	By role, the ratio of the two, but not less than one.
 * @since_ms:	By role, since when it has been there without a break, if it was ...
 * @lost:	... lost while it was in use; else it does not matter.
 * @sampled_ms:	When the last sample was taken ...
 * @changed_ms:	... and when the role last changed by the policy's own will.
 * @saved_ms:	Time saved up for changes of role.
 * @declined:	Share of recent batches that the DMA engine declined.
 *
 * The roles are those below %FOLIOLIFT_ROLE_TEST.  Shares and ratios are in units of
 * 1 / %FOLIOLIFT_ONE.
 */
struct foliolift_policy {
	struct foliolift_choice now;
	unsigned long changes;
	unsigned long fallbacks;

	u64 idle_cost[FOLIOLIFT_ROLE_TEST][FOLIOLIFT_NR_WIDTHS];
	unsigned int width[FOLIOLIFT_ROLE_TEST];
	u64 cost[FOLIOLIFT_ROLE_TEST];
	u64 past_cost[FOLIOLIFT_ROLE_TEST];
	u64 own_cost;
	bool excused;
	u64 cpu_ns;
	u32 page_ps[FOLIOLIFT_ROLE_TEST];
	u64 expected_ns[FOLIOLIFT_ROLE_TEST];
	u64 took_ns[FOLIOLIFT_ROLE_TEST];
	u32 slowness[FOLIOLIFT_ROLE_TEST];
	u64 since_ms[FOLIOLIFT_ROLE_TEST];
	bool lost[FOLIOLIFT_ROLE_TEST];
	u64 sampled_ms;
	u64 changed_ms;
	unsigned int saved_ms;
	u32 declined;
};

/* What patching the call costs. */
#define FOLIOLIFT_CHANGE_NS	100000

/* policy-cost.c */
void foliolift_policy_account(struct foliolift_policy *policy,
			      const struct foliolift_speeds *speeds,
			      const struct foliolift_load *load, u64 ms);
unsigned long foliolift_policy_min_pages(const struct foliolift_policy *policy,
					 const struct foliolift_speeds *speeds,
					 enum foliolift_role role);

/* policy.c */
void foliolift_policy_init(struct foliolift_policy *policy);
bool foliolift_policy_step(struct foliolift_policy *policy,
			   const struct foliolift_speeds *speeds,
			   const struct foliolift_load *load, u64 now_ms);

#endif /* _MM_FOLIOLIFT_POLICY_H */
