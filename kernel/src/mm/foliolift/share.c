// SPDX-License-Identifier: GPL-2.0
/* foliolift: one batch, copied by several CPUs; share.h tells how */
#include "deps.h"
#include "share.h"

/*
 * Turns to wait for a chunk that another CPU is copying before going to sleep.  Meant to
 * be several times what a chunk takes (twenty microseconds, where it was measured).
 */
#define FOLIOLIFT_SPINS	4000

/*
 * Where in the batch a CPU is: it takes pages in rising order, so it walks the
 * segments once, however they are shared out.
 */
struct foliolift_place {
	unsigned int segment;
	unsigned long first_page;	/* of that segment, in the batch */
};

/**
 * foliolift_copy_part() - Copy some pages of a folio.
 * @dst:	Folio to copy to.
 * @src:	Folio to copy from.
 * @first:	First page of both to copy.
 * @nr_pages:	Pages to copy; @first + @nr_pages must not exceed the folios.
 *
 * As folio_mc_copy() does for a whole folio, but without rescheduling.
 *
 * Context: Any.
 * Return: 0, or -EHWPOISON if a page of @src cannot be read.
 */
noinline int foliolift_copy_part(struct folio *dst, struct folio *src,
				 unsigned int first, unsigned int nr_pages)
{
	unsigned int i;

	for (i = first; i < first + nr_pages; i++)
		if (copy_mc_highpage(folio_page(dst, i), folio_page(src, i)))
			return -EHWPOISON;
	return 0;
}

/* Copy pages @from to @to - 1 of the batch. */
static void foliolift_share_copy_pages(const struct foliolift_batch *batch,
				       struct foliolift_place *place,
				       unsigned long from, unsigned long to)
{
	struct foliolift_segment *seg = &batch->segments[place->segment];

	while (from < to) {
		unsigned long end = place->first_page + seg->nr_pages;
		unsigned long stop = min(end, to);

		if (from < end) {
			int err = foliolift_copy_part(seg->dst, seg->src,
						      from - place->first_page,
						      stop - from);

			/* Others may be copying other parts, and find the same. */
			if (unlikely(err))
				WRITE_ONCE(seg->status, err);
			from = stop;
		}
		if (end <= from) {
			place->first_page = end;
			place->segment++;
			seg++;
		}
	}
}

enum foliolift_taken { NOTHING_LEFT, TAKEN, TAKEN_LAST };

/* Take a chunk and copy it.  Says whether one was left, and whether all are done now. */
static enum foliolift_taken
foliolift_share_take(struct foliolift_share *share,
		     struct foliolift_place *place, bool helper)
{
	unsigned long from, to;
	u64 start = 0;

	/*
	 * What orders the caller's stores to the batch before a helper's loads is the
	 * queueing of the helper; what orders a chunk's copy before the caller's use
	 * of it is @done.  The cursor only deals out numbers.
	 */
	from = atomic_long_fetch_add_relaxed(FOLIOLIFT_CHUNK_PAGES,
					     &share->next);
	if (from >= share->nr_pages)
		return NOTHING_LEFT;
	to = min(from + FOLIOLIFT_CHUNK_PAGES, share->nr_pages);

	if (helper)
		start = local_clock();
	foliolift_share_copy_pages(share->batch, place, from, to);
	if (helper)
		atomic64_add(local_clock() - start, &share->helper_ns);

	/*
	 * Pairs with the acquire in foliolift_share_finished(): the caller sees the
	 * copy, its status and the time it took.  A full barrier, because the
	 * caller may be going to sleep: either it sees the last page done, or the
	 * helper's wake_up_var() sees the caller.
	 */
	if (atomic_long_add_return(to - from, &share->done) == share->nr_pages)
		return TAKEN_LAST;
	return TAKEN;
}

static bool foliolift_share_finished(struct foliolift_share *share)
{
	/* Pairs with the addition in foliolift_share_take(). */
	return atomic_long_read_acquire(&share->done) == share->nr_pages;
}

/**
 * foliolift_share_new() - Make a batch ready to be shared out.
 * @batch:	The batch.
 *
 * Context: Any; does not sleep, and does not touch the memory reserves.
 * Return: The share, with one reference that is the caller's, or NULL.
 */
struct foliolift_share *foliolift_share_new(const struct foliolift_batch *batch)
{
	struct foliolift_share *share;

	share = kmalloc(sizeof(*share),
			GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!share)
		return NULL;
	share->batch = batch;
	share->nr_pages = batch->nr_pages;
	refcount_set(&share->refs, 1);
	atomic_long_set(&share->next, 0);
	atomic_long_set(&share->done, 0);
	atomic64_set(&share->helper_ns, 0);
	return share;
}

/**
 * foliolift_share_put() - Drop a reference.
 * @share:	The share.
 */
void foliolift_share_put(struct foliolift_share *share)
{
	if (refcount_dec_and_test(&share->refs))
		kfree(share);
}

/**
 * foliolift_share_help() - Copy what is left of a batch, for its caller.
 * @share:	The share, of which the helper holds a reference.
 *
 * Ends at once if nothing is left, which is all that the cursor says; the batch may not
 * exist any more then.
 *
 * Context: Process context, on behalf of another task.  Not preempted while it
 * copies a chunk.
 */
void foliolift_share_help(struct foliolift_share *share)
{
	struct foliolift_place place = {};
	enum foliolift_taken taken;

	do {
		/*
		 * The caller will wait for a chunk that was taken.  Were the helper
		 * preempted here, on a CPU that has more urgent things to do, that
		 * could take for ever, with the folios out of everybody's reach.
		 */
		preempt_disable();
		taken = foliolift_share_take(share, &place, true);
		preempt_enable();
		if (taken == TAKEN_LAST)
			wake_up_var(&share->done);
		cond_resched();
	} while (taken == TAKEN);
}

/**
 * foliolift_share_copy() - Copy a batch together with whoever helps.
 * @share:	The share; every helper that is asked should have been asked by now.
 *
 * On return every segment of the batch has a status other than %FOLIOLIFT_PENDING, and
 * no helper will look at the batch again.
 *
 * Context: Process context, the caller of the engine.  May sleep.
 * Return: Nanoseconds that helpers spent.
 */
u64 foliolift_share_copy(struct foliolift_share *share)
{
	const struct foliolift_batch *batch = share->batch;
	struct foliolift_place place = {};
	unsigned int i;

	while (foliolift_share_take(share, &place, false) != NOTHING_LEFT)
		cond_resched();

	/*
	 * What is left is on other CPUs, running, and done in a moment.  Sleep only
	 * if somebody else needs this one, or a hypervisor has stopped the other.
	 */
	for (i = 0; !foliolift_share_finished(share); i++) {
		if (need_resched() || i >= FOLIOLIFT_SPINS) {
			wait_var_event(&share->done,
				       foliolift_share_finished(share));
			break;
		}
		cpu_relax();
	}

	/* Every part of every segment was copied, or said that it could not be. */
	for (i = 0; i < batch->nr_segments; i++)
		if (batch->segments[i].status == FOLIOLIFT_PENDING)
			batch->segments[i].status = 0;
	return atomic64_read(&share->helper_ns);
}
