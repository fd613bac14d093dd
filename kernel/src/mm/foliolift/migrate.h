/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What mm/migrate.c calls.  With everything switched off each of these is a
 * static branch, or a comparison with a pointer that is in a register anyway.
 */
#ifndef _MM_FOLIOLIFT_MIGRATE_H
#define _MM_FOLIOLIFT_MIGRATE_H

#include <linux/bits.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/migrate_mode.h>
#include <linux/mm.h>

/**
 * struct foliolift_limit - Where migrate_pages() cuts its list into batches.
 * @nr_pages:	A batch is full when it holds so many base pages ...
 * @nr_folios:	... or so many folios.
 */
struct foliolift_limit {
	unsigned int nr_pages;
	unsigned int nr_folios;
};

/* Is a batch of @nr_pages base pages in @nr_folios folios full? */
static inline bool foliolift_batch_full(const struct foliolift_limit *limit,
					unsigned int nr_pages,
					unsigned int nr_folios)
{
	return nr_pages >= limit->nr_pages || nr_folios >= limit->nr_folios;
}

/*
 * Move the folios of one batch from the head of @from to the empty list @batch.  For
 * the small folios that large ones were split into, which come all at once.
 */
static inline void foliolift_cut(struct list_head *batch,
				 struct list_head *from,
				 const struct foliolift_limit *limit)
{
	unsigned int nr_pages = 0, nr_folios = 0;
	struct folio *folio;

	list_for_each_entry(folio, from, lru) {
		nr_pages += folio_nr_pages(folio);
		nr_folios++;
		if (foliolift_batch_full(limit, nr_pages, nr_folios)) {
			list_cut_position(batch, from, &folio->lru);
			return;
		}
	}
	list_splice_init(from, batch);
}

#ifdef CONFIG_FOLIOLIFT

/* Emit the tracepoint at the end of a phase; see trace/events/foliolift.h. */
#define foliolift_trace(phase, folios, mode, reason)			\
	trace_foliolift_##phase(folios, mode, reason)

/*
 * Between the copy stage and its move, a destination folio says in dst->private
 * (beside what migrate_folio_unmap() records there, an anon_vma and two flags,
 * hence 64-bit only: an anon_vma has three spare low bits there) that the copy
 * stage has an outcome for it, and in dst->index, which nobody uses before the
 * move, what that is: 0 or -EHWPOISON.  Neither field looks like a mapping to
 * whoever walks page frames.
 */
#define FOLIOLIFT_OUTCOME	BIT(2)

/*
 * During its move, dst->private of such a folio is the address of one of these
 * two.  Addresses, not flags: hugetlb has flags of its own in that field of a
 * destination, and goes through the same __migrate_folio().
 */
extern const char foliolift_copied, foliolift_poisoned;

DECLARE_STATIC_KEY_FALSE(foliolift_key);
extern struct foliolift_limit foliolift_limit;

void foliolift_copy_stage(struct list_head *src_folios,
			  struct list_head *dst_folios,
			  enum migrate_mode mode, int reason);

/* Copy the contents of a batch that is unmapped and flushed. */
static inline void foliolift_copy_folios(struct list_head *src_folios,
					 struct list_head *dst_folios,
					 enum migrate_mode mode, int reason)
{
	if (static_branch_unlikely(&foliolift_key))
		foliolift_copy_stage(src_folios, dst_folios, mode, reason);
}

/* Limits of the next batch; @stock is what the kernel does without foliolift. */
static inline struct foliolift_limit foliolift_batch_limit(unsigned int stock)
{
	struct foliolift_limit limit = { .nr_pages = stock, .nr_folios = stock };

	if (static_branch_unlikely(&foliolift_key)) {
		limit.nr_pages = READ_ONCE(foliolift_limit.nr_pages);
		limit.nr_folios = READ_ONCE(foliolift_limit.nr_folios);
	}
	return limit;
}

/*
 * The move of @dst begins: turn what was recorded into what the one copy in
 * __migrate_folio() will see.  Not behind the static key: a batch that was
 * copied before the key went off is moved after.
 */
static inline void foliolift_outcome_arm(struct folio *dst, int *state)
{
	if (likely(!(*state & FOLIOLIFT_OUTCOME)))
		return;
	*state &= ~FOLIOLIFT_OUTCOME;
	dst->private = (void *)(dst->index ? &foliolift_poisoned :
					     &foliolift_copied);
}

/*
 * The move of @dst ended: an outcome that it did not get as far as using is
 * void, and must not be met by whatever is done with @dst next.  (A move that is
 * tried again copies again, since arming took the flag out of what is recorded:
 * the source may have been written, through the very reference that made the
 * move fail.)
 */
static inline void foliolift_outcome_drop(struct folio *dst)
{
	if (unlikely(dst->private == &foliolift_copied ||
		     dst->private == &foliolift_poisoned))
		dst->private = NULL;
}

/* Copy @src to @dst, unless an engine has done so. */
static inline int foliolift_copy_folio(struct folio *dst, struct folio *src)
{
	void *outcome = dst->private;

	if (likely(outcome != &foliolift_copied &&
		   outcome != &foliolift_poisoned))
		return folio_mc_copy(dst, src);

	dst->private = NULL;
	return outcome == &foliolift_copied ? 0 : -EHWPOISON;
}

#else /* !CONFIG_FOLIOLIFT */

#define foliolift_trace(phase, folios, mode, reason)	do { } while (0)

#define FOLIOLIFT_OUTCOME	0

static inline void foliolift_copy_folios(struct list_head *src_folios,
					 struct list_head *dst_folios,
					 enum migrate_mode mode, int reason)
{
}

static inline struct foliolift_limit foliolift_batch_limit(unsigned int stock)
{
	return (struct foliolift_limit){ .nr_pages = stock, .nr_folios = stock };
}

static inline void foliolift_outcome_arm(struct folio *dst, int *state)
{
}

static inline void foliolift_outcome_drop(struct folio *dst)
{
}

static inline int foliolift_copy_folio(struct folio *dst, struct folio *src)
{
	return folio_mc_copy(dst, src);
}

#endif /* CONFIG_FOLIOLIFT */

#endif /* _MM_FOLIOLIFT_MIGRATE_H */
