// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: how fast an engine really is, here
 *
 * It copies a few megabytes that belong to nobody, from one node to another, as it would
 * copy folios that migrate: once as a small batch, once as a large one, for each number
 * of threads or channels.  A line through the two points is what the policy reckons with.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/nodemask.h>

#include "deps.h"
#include "internal.h"

/* 4 MB and 512 KB, in folios of 64 KB, of 4 KB pages. */
#define SCRATCH_FOLIOS	64
#define SCRATCH_ORDER	4
#define SMALL_FOLIOS	8

/* The best of so many runs: what disturbs a run can only make it longer. */
#define RUNS		3

/* An engine that takes longer than this for a run is not asked for a third one. */
#define LONG_RUN_NS	(50 * NSEC_PER_MSEC)

struct scratch {
	struct foliolift_batch batch;
	struct foliolift_segment segments[SCRATCH_FOLIOS];
};

/* The nodes to copy between: with memory, and with CPUs if there are such. */
static void scratch_nodes(int *src, int *dst)
{
	int nid;

	*src = NUMA_NO_NODE;
	for_each_node_state(nid, N_MEMORY)
		if (*src == NUMA_NO_NODE || (node_state(nid, N_CPU) &&
					     !node_state(*src, N_CPU)))
			*src = nid;
	*dst = NUMA_NO_NODE;
	for_each_node_state(nid, N_MEMORY) {
		if (nid == *src)
			continue;
		if (*dst == NUMA_NO_NODE || (node_state(nid, N_CPU) &&
					     !node_state(*dst, N_CPU)))
			*dst = nid;
	}
	if (*dst == NUMA_NO_NODE)
		*dst = *src;
}

static void scratch_free(struct scratch *scratch)
{
	int i;

	for (i = 0; i < SCRATCH_FOLIOS; i++) {
		if (scratch->segments[i].src)
			folio_put(scratch->segments[i].src);
		if (scratch->segments[i].dst)
			folio_put(scratch->segments[i].dst);
	}
	kfree(scratch);
}

static struct scratch *scratch_new(void)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN | __GFP_THISNODE;
	struct scratch *scratch = kzalloc(sizeof(*scratch), GFP_KERNEL);
	int i, src, dst;

	if (!scratch)
		return NULL;
	scratch_nodes(&src, &dst);
	scratch->batch.segments = scratch->segments;
	scratch->batch.mode = MIGRATE_SYNC;
	scratch->batch.reason = FOLIOLIFT_MEASURE;
	for (i = 0; i < SCRATCH_FOLIOS; i++) {
		struct foliolift_segment *seg = &scratch->segments[i];

		seg->src = __folio_alloc_node(gfp, SCRATCH_ORDER, src);
		seg->dst = __folio_alloc_node(gfp, SCRATCH_ORDER, dst);
		seg->nr_pages = 1 << SCRATCH_ORDER;
		if (!seg->src || !seg->dst) {
			scratch_free(scratch);
			return NULL;
		}
	}
	return scratch;
}

/* Nanoseconds that a batch of so many folios takes, or 0 if it is not copied. */
static u64 scratch_time(struct scratch *scratch, unsigned int nr_folios,
			const struct foliolift_engine *engine)
{
	u64 best = 0;
	int run, i;

	scratch->batch.nr_segments = nr_folios;
	scratch->batch.nr_pages = nr_folios << SCRATCH_ORDER;
	for (run = 0; run < RUNS; run++) {
		u64 took;

		for (i = 0; i < nr_folios; i++)
			scratch->segments[i].status = FOLIOLIFT_PENDING;
		took = ktime_get_ns();
		if (engine->copy(&scratch->batch))
			return 0;
		took = max(ktime_get_ns() - took, 1);
		for (i = 0; i < nr_folios; i++)
			if (scratch->segments[i].status)
				return 0;
		if (!best || took < best)
			best = took;
		/* Two at least: the first may have been disturbed. */
		if (run && best > LONG_RUN_NS)
			break;
		cond_resched();
	}
	return best;
}

static struct foliolift_speed scratch_speed(struct scratch *scratch,
					    const struct foliolift_engine *engine)
{
	unsigned int more = (SCRATCH_FOLIOS - SMALL_FOLIOS) << SCRATCH_ORDER;
	u64 small = scratch_time(scratch, SMALL_FOLIOS, engine);
	u64 large = scratch_time(scratch, SCRATCH_FOLIOS, engine);
	struct foliolift_speed speed = {};
	u64 page_ps, pages_ns;

	if (!small || !large)
		return speed;
	/* A small run that was disturbed must not make the pages free. */
	small = min(small, large);
	page_ps = div_u64((large - small) * 1000, more);
	page_ps = max(page_ps,
		      div_u64(large * 1000, SCRATCH_FOLIOS << SCRATCH_ORDER) / 2);
	speed.page_ps = clamp_t(u64, page_ps, 1, U32_MAX);
	pages_ns = div_u64(page_ps * (SMALL_FOLIOS << SCRATCH_ORDER), 1000);
	if (small > pages_ns)
		speed.start_ns = min_t(u64, small - pages_ns, U32_MAX);
	return speed;
}

/* ----- what was found ----- */

/* Threads or channels that an engine begins with, until the policy knows better. */
#define DEFAULT_WIDTH	4

/* By role and width, and the roles that were measured.  Written under foliolift_lock. */
static struct foliolift_speeds foliolift_speeds;
static unsigned long measured;

/* Roles whose engine came or went since the policy last looked.  Under foliolift_lock. */
static unsigned long forgotten;

/* When each engine was measured, in jiffies.  Under foliolift_lock. */
static unsigned long measured_at[FOLIOLIFT_NR_ROLES];

/* The width that each engine was told last.  Under foliolift_lock. */
static unsigned int widths[FOLIOLIFT_NR_ROLES];

/**
 * foliolift_set_width() - Tell an engine how many threads or channels to use.
 * @engine:	A registered engine.
 * @width:	Their number; cut to what the engine has.
 *
 * Context: Process context, with foliolift_lock held.
 */
void foliolift_set_width(const struct foliolift_engine *engine,
			 unsigned int width)
{
	lockdep_assert_held(&foliolift_lock);
	if (!engine->set_width)
		return;
	width = clamp(width, 1U, max(engine->max_width, 1U));
	widths[engine->role] = width;
	engine->set_width(width);
}

static void set_speeds(enum foliolift_role role,
		       const struct foliolift_speed speed[FOLIOLIFT_NR_WIDTHS])
{
	int i;

	for (i = 0; i < FOLIOLIFT_NR_WIDTHS; i++)
		WRITE_ONCE(foliolift_speeds.of[role][i], speed[i]);
}

/**
 * foliolift_speed_forget() - An engine comes or goes: nothing is known of it.
 * @engine:	The engine.
 *
 * Context: Process context, with foliolift_lock held.
 */
void foliolift_speed_forget(const struct foliolift_engine *engine)
{
	static const struct foliolift_speed nothing[FOLIOLIFT_NR_WIDTHS];

	lockdep_assert_held(&foliolift_lock);
	measured &= ~BIT(engine->role);
	forgotten |= BIT(engine->role);
	set_speeds(engine->role, nothing);
	foliolift_set_width(engine, DEFAULT_WIDTH);
}

/*
 * An engine that was not faster than a CPU is measured again after so long: CPUs and
 * channels may have been at work for others, or there was no memory to measure with.
 */
#define AGAIN_JIFFIES	(60 * HZ)

static bool is_faster(enum foliolift_role role)
{
	u32 cpu = foliolift_speeds.of[FOLIOLIFT_ROLE_CPU][0].page_ps;
	int i;

	for (i = 0; i < FOLIOLIFT_NR_WIDTHS; i++) {
		u32 page_ps = foliolift_speeds.of[role][i].page_ps;

		if (page_ps && (page_ps < cpu || role == FOLIOLIFT_ROLE_CPU))
			return true;
	}
	return false;
}

static bool is_due(enum foliolift_role role)
{
	return !(measured & BIT(role)) ||
	       (!is_faster(role) &&
		time_after(jiffies, measured_at[role] + AGAIN_JIFFIES));
}

/* Measure an engine at each of its widths. */
static void measure(const struct foliolift_engine *engine)
{
	struct foliolift_speed speed[FOLIOLIFT_NR_WIDTHS] = {};
	unsigned int max_width = max(engine->max_width, 1);
	unsigned int width = widths[engine->role];
	struct scratch *scratch = scratch_new();
	int i;

	if (scratch) {
		for (i = 0; i < FOLIOLIFT_NR_WIDTHS && 1U << i <= max_width; i++) {
			foliolift_set_width(engine, 1 << i);
			speed[i] = scratch_speed(scratch, engine);
		}
		scratch_free(scratch);
		foliolift_set_width(engine, width);
	}
	set_speeds(engine->role, speed);
	measured |= BIT(engine->role);
	measured_at[engine->role] = jiffies;
}

/**
 * foliolift_calibrate() - Measure engines.
 * @again:	Also those that are measured; the policy begins anew with what is found.
 *
 * Context: Process context.  Takes foliolift_lock, for tens of milliseconds for each
 * engine.
 * Return: 0, or -EAGAIN if an engine could not be measured, which is then not chosen by
 * itself.
 */
int foliolift_calibrate(bool again)
{
	int role, err = 0;

	guard(mutex)(&foliolift_lock);
	for (role = 0; role < FOLIOLIFT_NR_ROLES; role++) {
		const struct foliolift_engine *engine = foliolift_engines[role];

		/* The policy chooses no test's engine, which may do anything. */
		if (!engine || role == FOLIOLIFT_ROLE_TEST ||
		    (!again && !is_due(role)))
			continue;
		measure(engine);
		if (!foliolift_speeds.of[role][0].page_ps)
			err = -EAGAIN;
	}
	if (again)
		foliolift_auto_renew();
	return err;
}

/**
 * foliolift_get_speed() - What calibration found.
 * @role:	Role of the engine.
 * @width_log2:	Index of the width.
 *
 * Context: Any.  Takes no lock, since engines are removed from sysfs under it.
 * Return: The speed, all 0 if nothing is known.
 */
struct foliolift_speed foliolift_get_speed(enum foliolift_role role,
					   unsigned int width_log2)
{
	return READ_ONCE(foliolift_speeds.of[role][width_log2]);
}

/**
 * foliolift_take_speeds() - What calibration found, for the policy.
 * @speeds:	Filled in.
 *
 * Of an engine that came or went since the last call nothing is known: if it was lost
 * and is back already, it is not the one that copies any more, and the policy has to
 * notice.
 *
 * Context: Process context, with foliolift_lock held.
 */
void foliolift_take_speeds(struct foliolift_speeds *speeds)
{
	int role;

	lockdep_assert_held(&foliolift_lock);
	*speeds = foliolift_speeds;
	for (role = 0; role < FOLIOLIFT_NR_ROLES; role++)
		if (forgotten & BIT(role))
			memset(speeds->of[role], 0, sizeof(speeds->of[role]));
	forgotten = 0;
}
