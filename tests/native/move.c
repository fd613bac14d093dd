// SPDX-License-Identifier: GPL-2.0
/*
 * The move step, told again from mm/migrate.c and kernel/hooks/20-copied-mark.patch
 * with the real inline functions of migrate.h.
 */
#include "move.h"

#include "mm/foliolift/migrate.h"

#define MOVE_STATES	(MOVE_WAS_MAPPED | MOVE_WAS_MLOCKED | FOLIOLIFT_OUTCOME)

void move_record(struct folio *dst, int state, void *anon_vma)
{
	dst->private = (char *)anon_vma + state;
}

static int common_move(struct folio *dst, struct folio *src, bool with_private)
{
	int rc;

	if (folio_ref_count(src) != folio_expected_ref_count(src) + 1)
		return -EAGAIN;

	rc = foliolift_copy_folio(dst, src);
	if (rc)
		return rc;

	/* Somebody took a reference while it was copied. */
	if (src->freeze_fails) {
		src->freeze_fails = false;
		return -EAGAIN;
	}
	dst->index = src->index;
	dst->mapping = src->mapping;
	dst->swapcache = src->swapcache;
	if (src->swapcache || with_private)
		dst->private = src->private;
	dst->has_private = with_private;
	return 0;
}

int migrate_folio(struct address_space *mapping, struct folio *dst,
		  struct folio *src, enum migrate_mode mode)
{
	return common_move(dst, src, false);
}

int filemap_migrate_folio(struct address_space *mapping, struct folio *dst,
			  struct folio *src, enum migrate_mode mode)
{
	return common_move(dst, src, src->private);
}

static int buffer_move(struct folio *dst, struct folio *src)
{
	if (folio_buffers(src) && src->buffer_held)
		return -EAGAIN;
	return common_move(dst, src, folio_buffers(src));
}

int buffer_migrate_folio(struct address_space *mapping, struct folio *dst,
			 struct folio *src, enum migrate_mode mode)
{
	return buffer_move(dst, src);
}

int buffer_migrate_folio_norefs(struct address_space *mapping,
				struct folio *dst, struct folio *src,
				enum migrate_mode mode)
{
	return buffer_move(dst, src);
}

int own_migrate_folio(struct address_space *mapping, struct folio *dst,
		      struct folio *src, enum migrate_mode mode)
{
	int rc = folio_mc_copy(dst, src);

	if (rc)
		return rc;
	dst->index = src->index;
	dst->mapping = src->mapping;
	return 0;
}

static int move_to_new_folio(struct folio *dst, struct folio *src)
{
	struct address_space *mapping = folio_mapping(src);

	if (!mapping)
		return migrate_folio(mapping, dst, src, MIGRATE_ASYNC);
	if (mapping_inaccessible(mapping))
		return -EOPNOTSUPP;
	if (mapping->a_ops->migrate_folio)
		return mapping->a_ops->migrate_folio(mapping, dst, src,
						     MIGRATE_ASYNC);
	/* fallback_migrate_folio() of a clean folio */
	return migrate_folio(mapping, dst, src, MIGRATE_ASYNC);
}

int move_folio(struct folio *dst, struct folio *src, int *state,
	       void **anon_vma)
{
	unsigned long private = (unsigned long)dst->private;
	int rc;

	*anon_vma = (void *)(private & ~MOVE_STATES);
	*state = private & MOVE_STATES;
	dst->private = NULL;
	foliolift_outcome_arm(dst, state);

	if (__folio_test_movable(src)) {
		rc = own_migrate_folio(NULL, dst, src, MIGRATE_ASYNC);
	} else {
		rc = move_to_new_folio(dst, src);
		foliolift_outcome_drop(dst);
	}
	if (rc == -EAGAIN)
		move_record(dst, *state, *anon_vma);
	return rc;
}

int move_hugetlb(struct folio *dst, struct folio *src)
{
	return move_to_new_folio(dst, src);
}
