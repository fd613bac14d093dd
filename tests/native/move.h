/* SPDX-License-Identifier: GPL-2.0 */
/* The move step of mm/migrate.c, as far as the copy stage has to do with it. */
#ifndef _NATIVE_MOVE_H
#define _NATIVE_MOVE_H

#include "model.h"

/* What migrate_folio_unmap() records beside the anon_vma. */
#define MOVE_WAS_MAPPED		BIT(0)
#define MOVE_WAS_MLOCKED	BIT(1)

void move_record(struct folio *dst, int state, void *anon_vma);

/*
 * Moves @src to @dst as hooks/20 has it: arm, move, drop.  What was recorded is
 * given back unless the return is -EAGAIN, when it is recorded again.
 */
int move_folio(struct folio *dst, struct folio *src, int *state,
	       void **anon_vma);
/* The same for hugetlb, which records nothing and has flags in dst->private. */
int move_hugetlb(struct folio *dst, struct folio *src);

/* A file system's callback that copies by itself. */
int own_migrate_folio(struct address_space *mapping, struct folio *dst,
		      struct folio *src, enum migrate_mode mode);

#endif /* _NATIVE_MOVE_H */
