/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Destinations of a migration are overwritten whole, so they need not be zeroed first
 *
 * With init_on_alloc=1 the page allocator zeroes every page that it hands out, so that
 * nobody sees what was in it before.  Nobody sees a destination before the source's
 * contents are in it: it is locked and known to its migration alone, and a migration
 * that fails gives it back to the allocator, which zeroes it when it is handed out again.
 *
 * That the contents are written whole is certain of the common copy, and only of that.
 * So what has no business there is zeroed as ever:
 *
 * - hugetlb folios and movable pages that are not on an LRU, known when the destination
 *   is allocated: these never ask for a destination that is not zeroed;
 * - folios whose mapping migrates them by a callback of its own.  The mapping is only
 *   stable once the folio is locked, later, so foliolift_init_dst() makes up for it
 *   just before the callback is called.
 */
#ifndef _MM_FOLIOLIFT_OVERWRITE_H
#define _MM_FOLIOLIFT_OVERWRITE_H

#include <linux/gfp.h>
#include <linux/jump_label.h>
#include <linux/mm.h>

#ifdef CONFIG_FOLIOLIFT

/*
 * Asks for pages that are not zeroed.  The bit is the one that gfp_types.h keeps
 * unused; it never leaves a migration's allocation of its destination.
 */
#define FOLIOLIFT_GFP_OVERWRITE	((__force gfp_t)BIT(___GFP_UNUSED_BIT))

/* foliolift is on. */
DECLARE_STATIC_KEY_FALSE(foliolift_key);

/* It was, at some time since boot: there may be destinations that are not zeroed. */
DECLARE_STATIC_KEY_FALSE(foliolift_was_on_key);

void foliolift_zero_dst(const struct address_space *mapping, struct folio *dst);

/* For the page allocator: hand out what was allocated with @flags as it is? */
static inline bool foliolift_skip_init(gfp_t flags)
{
	return (flags & (FOLIOLIFT_GFP_OVERWRITE | __GFP_ZERO)) ==
	       FOLIOLIFT_GFP_OVERWRITE;
}

/* What to add to the flags when a destination for @src is allocated. */
static inline gfp_t foliolift_dst_gfp(const struct folio *src)
{
	if (!static_branch_unlikely(&foliolift_key) ||
	    folio_test_hugetlb(src) || __folio_test_movable(src))
		return 0;
	return FOLIOLIFT_GFP_OVERWRITE;
}

/* Before the contents get to @dst, perhaps by a callback of @mapping's own. */
static inline void foliolift_init_dst(const struct address_space *mapping,
				      struct folio *dst)
{
	if (static_branch_unlikely(&foliolift_was_on_key))
		foliolift_zero_dst(mapping, dst);
}

#else /* !CONFIG_FOLIOLIFT */

static inline bool foliolift_skip_init(gfp_t flags)
{
	return false;
}

static inline gfp_t foliolift_dst_gfp(const struct folio *src)
{
	return 0;
}

static inline void foliolift_init_dst(const struct address_space *mapping,
				      struct folio *dst)
{
}

#endif /* CONFIG_FOLIOLIFT */

#endif /* _MM_FOLIOLIFT_OVERWRITE_H */
