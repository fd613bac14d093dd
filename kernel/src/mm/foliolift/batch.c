// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: the stage of migrate_pages() that copies a whole batch
 *
 * Called between the TLB flush and the first move, with every folio of the batch
 * locked, isolated and unmapped, and its destination locked and unseen.  Whatever
 * is copied here is marked, and the move step uses the mark once; whatever is not
 * is copied by the move step as if this stage did not exist.  So nothing that goes
 * wrong here costs more than time.
 */
#include "deps.h"
#include "internal.h"
#include "overwrite.h"

DEFINE_STATIC_KEY_FALSE(foliolift_was_on_key);
DEFINE_PER_CPU(struct foliolift_stats, foliolift_stats);

const char foliolift_copied, foliolift_poisoned;

/*
 * Batches of 8 MB and 512 folios: small folios batch just as they do without
 * foliolift, and four 2 MB folios at a time, which keeps each of them away from
 * its users no longer than a batch of small ones (measured with 4 KB base pages).
 */
struct foliolift_limit foliolift_limit = {
	.nr_pages = SZ_8M >> PAGE_SHIFT,
	.nr_folios = 512,
};

/*
 * Left alone: migrations of a single folio for which a program waits in a fault, and
 * those away from memory that fails, where the machine check should hit the move.
 */
unsigned long foliolift_reasons = ~(BIT(MR_NUMA_MISPLACED) |
				    BIT(MR_MEMORY_FAILURE));

static void foliolift_count_fallback(enum foliolift_fallback cause,
				     unsigned int nr_folios)
{
	this_cpu_add(foliolift_stats.fallback[cause], nr_folios);
}

/* Does @mapping migrate its folios by a callback that ends in the common copy? */
static bool foliolift_known_callback(const struct address_space *mapping)
{
	int (*callback)(struct address_space *mapping, struct folio *dst,
			struct folio *src, enum migrate_mode mode) =
		mapping->a_ops->migrate_folio;

	if (!callback)
		return false;
	return callback == migrate_folio || callback == filemap_migrate_folio ||
	       callback == buffer_migrate_folio ||
	       callback == buffer_migrate_folio_norefs;
}

/**
 * foliolift_zero_dst() - Zero a destination that may not be overwritten whole.
 * @mapping:	Mapping of the source, which is locked; may be NULL.
 * @dst:	The destination.
 *
 * Does what the page allocator has left undone for a destination of a migration, unless
 * @mapping migrates by the common copy.
 *
 * Context: The move, before a callback of @mapping is called.  May reschedule.
 */
void foliolift_zero_dst(const struct address_space *mapping, struct folio *dst)
{
	if (!mapping || !mapping->a_ops->migrate_folio ||
	    foliolift_known_callback(mapping) || folio_test_hugetlb(dst) ||
	    !want_init_on_alloc(0) || want_init_on_free())
		return;
	folio_zero_range(dst, 0, folio_size(dst));
}

/*
 * Will the move of @src end in the one copy that looks for our mark?  A callback
 * that copies by itself would copy again, over a folio that others may write by
 * then, and leave the mark behind.  Movable pages that are not on an LRU and
 * hugetlb have their own ways too.
 *
 * Folios with buffers end there, but check first that nobody holds a buffer, since
 * who does may write the block with neither a folio reference nor the folio lock.
 * That check has to come before the copy, so such folios wait for it.
 *
 * Folios of shmem can be pinned for writing at any time, without being mapped and
 * without their lock, by memfd_pin_folios().  A pin that comes and goes between our
 * copy and the move would go unnoticed; the move's own copy leaves it far less time.
 */
static bool foliolift_uses_common_copy(struct folio *src)
{
	struct address_space *mapping;

	if (__folio_test_movable(src) || folio_test_hugetlb(src))
		return false;
	mapping = folio_mapping(src);
	if (!mapping)
		return true;
	if (mapping_inaccessible(mapping) || shmem_mapping(mapping) ||
	    !foliolift_known_callback(mapping))
		return false;
	return mapping->a_ops->migrate_folio == migrate_folio ||
	       mapping->a_ops->migrate_folio == filemap_migrate_folio ||
	       !folio_buffers(src);
}

/*
 * Does the migration hold the only references to @src?  A reference too many may be
 * a pin, taken before the folio was unmapped, through which it can still be written.
 * If it were copied now and unpinned before the move step compares the references,
 * whatever was written in between would be lost.  Once the folio is unmapped and
 * locked, references are added only by those who look, or who wait for its lock
 * before they write; shmem, where this is not so, does not come here.
 */
static bool foliolift_unreferenced(struct folio *src)
{
	return folio_ref_count(src) == folio_expected_ref_count(src) + 1;
}

/* Leave word for the move step: @outcome is 0 or -EHWPOISON. */
static void foliolift_record_outcome(struct folio *dst, int outcome)
{
	dst->index = outcome;
	dst->private = (void *)((unsigned long)dst->private | FOLIOLIFT_OUTCOME);
}

/*
 * Fill the batch from the two lists, beginning at *@srcp and *@dstp, which are
 * moved on past what was taken or passed over.
 */
static void foliolift_collect(struct foliolift_batch *batch,
			      unsigned int max_segments,
			      struct list_head *src_folios,
			      struct folio **srcp, struct folio **dstp)
{
	struct folio *src = *srcp, *dst = *dstp;
	unsigned int nr_refs = 0, nr_callback = 0;

	batch->nr_segments = 0;
	batch->nr_pages = 0;
	while (!list_entry_is_head(src, src_folios, lru) &&
	       batch->nr_segments < max_segments) {
		if (!foliolift_uses_common_copy(src)) {
			nr_callback++;
		} else if (!foliolift_unreferenced(src)) {
			nr_refs++;
		} else {
			struct foliolift_segment *seg;

			seg = &batch->segments[batch->nr_segments++];
			seg->dst = dst;
			seg->src = src;
			seg->nr_pages = folio_nr_pages(src);
			seg->status = FOLIOLIFT_PENDING;
			batch->nr_pages += seg->nr_pages;
		}
		src = list_next_entry(src, lru);
		dst = list_next_entry(dst, lru);
	}
	*srcp = src;
	*dstp = dst;

	/*
	 * The contents are not read before the references were compared: whoever
	 * wrote through a pin and dropped it has released what was written.
	 */
	smp_rmb();

	if (nr_refs)
		foliolift_count_fallback(FOLIOLIFT_FALLBACK_REFS, nr_refs);
	if (nr_callback)
		foliolift_count_fallback(FOLIOLIFT_FALLBACK_CALLBACK,
					 nr_callback);
}

/* Take in what the engine reported: mark the copied, count everything. */
static void foliolift_settle(struct foliolift_batch *batch,
			     const struct foliolift_engine *engine, int ret,
			     u64 ns)
{
	enum foliolift_role role = engine->role;
	unsigned int nr_copied = 0, nr_failed = 0, nr_pending = 0;
	unsigned int nr_poisoned = 0, i;
	unsigned long nr_pages = 0;

	for (i = 0; i < batch->nr_segments; i++) {
		struct foliolift_segment *seg = &batch->segments[i];

		switch (seg->status) {
		case 0:
			foliolift_record_outcome(seg->dst, 0);
			nr_copied++;
			nr_pages += seg->nr_pages;
			break;
		case -EHWPOISON:
			foliolift_record_outcome(seg->dst, -EHWPOISON);
			nr_poisoned++;
			break;
		case FOLIOLIFT_PENDING:
			nr_pending++;
			break;
		default:
			nr_failed++;
			break;
		}
	}

	trace_foliolift_engine(engine->name, batch, nr_copied, ret);

	this_cpu_inc(foliolift_stats.engine[role][FOLIOLIFT_STAT_BATCHES]);
	this_cpu_add(foliolift_stats.engine[role][FOLIOLIFT_STAT_FOLIOS],
		     nr_copied);
	this_cpu_add(foliolift_stats.engine[role][FOLIOLIFT_STAT_PAGES],
		     nr_pages);
	if (!ret)
		this_cpu_add(foliolift_stats.engine[role][FOLIOLIFT_STAT_NS],
			     ns);
	if (likely(nr_copied == batch->nr_segments && !ret))
		return;
	this_cpu_add(foliolift_stats.engine[role][FOLIOLIFT_STAT_FAILED],
		     batch->nr_segments - nr_copied);
	if (ret < 0)
		this_cpu_inc(foliolift_stats.engine[role][FOLIOLIFT_STAT_DECLINED]);
	this_cpu_add(foliolift_stats.poisoned, nr_poisoned);
	foliolift_count_fallback(FOLIOLIFT_FALLBACK_FAILED, nr_failed);
	foliolift_count_fallback(FOLIOLIFT_FALLBACK_DECLINED, nr_pending);
}

static void foliolift_copy_with(const struct foliolift_engine *engine,
				struct list_head *src_folios,
				struct list_head *dst_folios,
				unsigned int nr_folios,
				enum migrate_mode mode, int reason)
{
	unsigned int max_segments = min(nr_folios, FOLIOLIFT_MAX_SEGMENTS);
	struct foliolift_batch batch = { .mode = mode, .reason = reason };
	struct folio *src, *dst;

	/*
	 * The task may be reclaiming memory, and it holds folio locks: neither
	 * wait nor touch the reserves for what is only an optimisation.
	 */
	batch.segments = kmalloc_array(max_segments, sizeof(*batch.segments),
				       GFP_NOWAIT | __GFP_NOWARN |
				       __GFP_NOMEMALLOC);
	if (!batch.segments) {
		foliolift_count_fallback(FOLIOLIFT_FALLBACK_NOMEM, nr_folios);
		return;
	}

	src = list_first_entry(src_folios, struct folio, lru);
	dst = list_first_entry(dst_folios, struct folio, lru);
	while (!list_entry_is_head(src, src_folios, lru)) {
		u64 start;
		int ret;

		foliolift_collect(&batch, max_segments, src_folios, &src, &dst);
		if (!batch.nr_segments)
			continue;
		start = ktime_get_ns();
		ret = static_call(foliolift_copy)(&batch);
		foliolift_settle(&batch, engine, ret, ktime_get_ns() - start);
	}
	kfree(batch.segments);
}

/**
 * foliolift_copy_stage() - Copy the contents of a batch of folios early.
 * @src_folios:	Folios to copy from: locked, isolated, unmapped and flushed.
 * @dst_folios:	Their destinations in the same order: locked, and recorded by
 *		migrate_folio_unmap().
 * @mode:	Mode of the migration.
 * @reason:	Reason of the migration, an enum migrate_reason.
 *
 * Marks the destinations that were copied, and those whose source turned out to be
 * poisoned.  Everything else is as it was.  Neither list is changed.
 *
 * Context: Process context, possibly reclaiming memory.  Enters the SRCU section of
 * the selected engine; may sleep, but waits for no folio.
 */
void foliolift_copy_stage(struct list_head *src_folios,
			  struct list_head *dst_folios,
			  enum migrate_mode mode, int reason)
{
	const struct foliolift_engine *engine;
	unsigned int nr_folios = 0, size;
	unsigned long nr_pages = 0;
	struct folio *src, *dst;
	int idx;

	list_for_each_entry(src, src_folios, lru) {
		nr_folios++;
		nr_pages += folio_nr_pages(src);
	}
	if (!nr_folios)
		return;

	if (!(READ_ONCE(foliolift_reasons) & BIT(reason))) {
		foliolift_count_fallback(FOLIOLIFT_FALLBACK_REASON, nr_folios);
		return;
	}
	size = foliolift_size_class(nr_pages);
	this_cpu_inc(foliolift_stats.batches[size]);
	this_cpu_add(foliolift_stats.pages[size], nr_pages);
	if (unlikely(READ_ONCE(foliolift_sampler_asleep))) {
		src = list_first_entry(src_folios, struct folio, lru);
		dst = list_first_entry(dst_folios, struct folio, lru);
		foliolift_sampler_wake(folio_nid(src), folio_nid(dst));
	}

	engine = foliolift_enter(nr_pages, &idx);
	if (engine)
		foliolift_copy_with(engine, src_folios, dst_folios, nr_folios,
				    mode, reason);
	else
		foliolift_count_fallback(FOLIOLIFT_FALLBACK_SMALL, nr_folios);
	foliolift_exit(idx);
}

#include "tests/batch-kunit.h"
