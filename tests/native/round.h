/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One batch from its unmapping to the end of its moves, and what the model says
 * of each of its folios on the way.
 */
#ifndef _NATIVE_ROUND_H
#define _NATIVE_ROUND_H

#include "model.h"
#include "move.h"

enum kind_id {
	ANON,
	SWAPCACHE,
	SHMEM,			/* migrate_folio */
	FILEMAP,		/* filemap_migrate_folio */
	FILEMAP_PRIVATE,	/* the same with something private */
	BUFFER_CLEAN,		/* buffer_migrate_folio, no buffers yet */
	BUFFERS,
	NOREFS_CLEAN,		/* buffer_migrate_folio_norefs */
	NOREFS_BUFFERS,
	OWN,			/* a callback that copies by itself */
	NO_CALLBACK,
	INACCESSIBLE,
	MOVABLE,		/* not on an LRU */
	HUGETLB,
	NR_KINDS,
};

struct kind {
	const char *name;
	bool early;		/* may be copied before its move */
	bool checks_refs;	/* its move ends in the common one */
	bool swapcache, private, buffers, hugetlb;
	unsigned long mapping_flags;
	const struct address_space *mapping;
};

extern const struct kind kinds[NR_KINDS];

/* What the test's engine will do to a folio. */
enum plan {
	PLAN_COPY,
	PLAN_FAIL,	/* an error, half of it copied */
	PLAN_POISON,
	PLAN_PENDING,	/* half of it copied, and nothing said */
	NR_PLANS,
};

struct item {
	const struct kind *kind;
	struct folio *src, *dst;
	enum plan plan;
	int error;		/* of PLAN_FAIL */
	int extra_refs;		/* pins, and other people's references */
	int state;		/* recorded ... */
	void *anon_vma;		/* ... with this */
	/* What the model expects. */
	bool early;		/* an engine is asked to copy it */
	int outcome;		/* 1: none, 0: copied, -EHWPOISON: poisoned */
	unsigned int nr_reads;
	int moved;		/* the move's return; 1: not moved yet */
};

struct round {
	struct list_head src, dst;
	struct item *items;
	unsigned int nr, room;
	enum migrate_mode mode;
	int reason;
	bool use_cpu;		/* not the test's engine */
	bool key_off;
	bool no_memory;
	int engine_ret;
	/* The engine's. */
	unsigned int next;	/* item */
	unsigned int nr_calls;
};

/* The test's engine; works on the round that is in its stage. */
int round_engine_copy(const struct foliolift_batch *batch);
extern struct foliolift_engine round_engine;

void round_init(struct round *round);
struct item *round_add(struct round *round, enum kind_id kind,
		       unsigned int order);
/* Its mapping gets other operations; only for those of page cache. */
void round_turn_into(struct item *item, enum kind_id kind);
void round_pin(struct item *item);
void round_unpin(struct item *item);

/* The copy stage; checks everything that it did. */
void round_stage(struct round *round);
/* One try of one move; checks it too.  Returns what the move did. */
int round_move(struct item *item);
/* Moves whatever has not been moved. */
void round_move_all(struct round *round);
void round_free(struct round *round);

/* Group setup and teardown: the files, and the engine registered. */
int round_setup(void **state);
int round_teardown(void **state);

#endif /* _NATIVE_ROUND_H */
