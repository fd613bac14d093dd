/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One batch, copied by several CPUs that come when they can.
 *
 * The pages of the batch are numbered from 0, segment after segment.  One cursor says
 * which is the next that nobody has taken; whoever copies takes a chunk of pages from
 * it, and says how many it has done when it has done them.  So a folio of 2 MB is
 * split among the CPUs and 512 folios of 4 KB are shared out in the same way.
 *
 * The rules that make this safe without a lock, and the caller independent of those
 * who help:
 *
 * - The batch belongs to the caller.  A helper looks at it only between taking a
 *   chunk and having reported it as done; the caller does not return before every
 *   page that was taken is done.  A helper that comes when nothing is left sees that
 *   from the cursor alone, so the caller need not wait for it, nor know of it.
 * - A helper takes a chunk and copies it without being preempted.  So the caller waits
 *   for CPUs that are copying, for the time of one chunk, and never for a task that
 *   would first have to be scheduled.
 * - The share itself is freed by whoever drops it last.
 */
#ifndef _MM_FOLIOLIFT_SHARE_H
#define _MM_FOLIOLIFT_SHARE_H

#include <linux/foliolift.h>

/*
 * Pages that are taken at a time, 128 KB.  Small enough that helpers run without
 * preemption for some twenty microseconds and that a 2 MB folio keeps 16 CPUs busy;
 * large enough that two CPUs do not get in each other's way (docs/engines.md).
 */
#define FOLIOLIFT_CHUNK_PAGES	max(SZ_128K >> PAGE_SHIFT, 1)

/**
 * struct foliolift_share - A batch that is being shared out.
 * @batch:	The batch; see above for when helpers may look at it.
 * @nr_pages:	Its pages, copied because @batch may be gone.
 * @refs:	The caller and each helper that was asked.
 * @next:	The cursor: pages that were taken; beyond @nr_pages when none is left.
 * @done:	Pages whose copy is complete, or has failed.  Added to after the copy, with
 *		release semantics; what the caller acquires before it returns.
 * @helper_ns:	Time that helpers spent copying; complete when @done is.
 */
struct foliolift_share {
	const struct foliolift_batch *batch;
	unsigned long nr_pages;
	refcount_t refs;
	atomic_long_t next ____cacheline_aligned_in_smp;
	atomic_long_t done ____cacheline_aligned_in_smp;
	atomic64_t helper_ns;
};

struct foliolift_share *foliolift_share_new(const struct foliolift_batch *batch);
void foliolift_share_put(struct foliolift_share *share);
void foliolift_share_help(struct foliolift_share *share);
u64 foliolift_share_copy(struct foliolift_share *share);
int foliolift_copy_part(struct folio *dst, struct folio *src,
			unsigned int first, unsigned int nr_pages);

#endif /* _MM_FOLIOLIFT_SHARE_H */
