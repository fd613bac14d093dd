// SPDX-License-Identifier: GPL-2.0
/*
 * The model of a batch.  What is expected of a folio is worked out here from its
 * kind, its references and its engine's plan, and from nothing that the kernel
 * code says.
 */
#include "round.h"

#include "cmocka-native.h"
#include "mm/foliolift/internal.h"

/* ----- kinds ----- */

#define MAPPING(name, callback)						\
	static const struct address_space_operations name##_ops = {	\
		.migrate_folio = callback,				\
	};								\
	static const struct address_space name = { .a_ops = &name##_ops }

MAPPING(filemap, filemap_migrate_folio);
MAPPING(buffer, buffer_migrate_folio);
MAPPING(norefs, buffer_migrate_folio_norefs);
MAPPING(own, own_migrate_folio);
MAPPING(none, NULL);
/* Can be pinned for writing without its lock: never copied early. */
static const struct address_space_operations shmem_ops = {
	.migrate_folio = migrate_folio,
};

static const struct address_space shmem = { .a_ops = &shmem_ops, .shmem = true };

static const struct address_space inaccessible = {
	.a_ops = &filemap_ops, .inaccessible = true,
};

const struct kind kinds[NR_KINDS] = {
	[ANON] = { "anon", .early = true, .checks_refs = true,
		   .mapping_flags = MODEL_MAPPING_ANON },
	[SWAPCACHE] = { "swapcache", .early = true, .checks_refs = true,
			.mapping_flags = MODEL_MAPPING_ANON,
			.swapcache = true, .private = true },
	[SHMEM] = { "shmem", .checks_refs = true, .mapping = &shmem },
	[FILEMAP] = { "filemap", .early = true, .checks_refs = true,
		      .mapping = &filemap },
	[FILEMAP_PRIVATE] = { "filemap, private", .early = true,
			      .checks_refs = true, .mapping = &filemap,
			      .private = true },
	[BUFFER_CLEAN] = { "buffer, none", .early = true, .checks_refs = true,
			   .mapping = &buffer },
	[BUFFERS] = { "buffer", .checks_refs = true, .mapping = &buffer,
		      .private = true, .buffers = true },
	[NOREFS_CLEAN] = { "norefs, none", .early = true, .checks_refs = true,
			   .mapping = &norefs },
	[NOREFS_BUFFERS] = { "norefs", .checks_refs = true, .mapping = &norefs,
			     .private = true, .buffers = true },
	[OWN] = { "own callback", .mapping = &own },
	[NO_CALLBACK] = { "no callback", .checks_refs = true, .mapping = &none },
	[INACCESSIBLE] = { "inaccessible", .mapping = &inaccessible },
	[MOVABLE] = { "movable", .mapping_flags = MODEL_MAPPING_MOVABLE },
	[HUGETLB] = { "hugetlb", .checks_refs = true, .hugetlb = true,
		      .mapping_flags = MODEL_MAPPING_ANON },
};

/* ----- a batch ----- */

/* Something that an anon_vma's address and a private's can be. */
static long anon_vmas[64];
static char privates[64];

/* What dst->index holds while nobody uses it. */
#define INDEX_UNUSED	0x5a5a5a5aUL

void round_init(struct round *round)
{
	memset(round, 0, sizeof(*round));
	INIT_LIST_HEAD(&round->src);
	INIT_LIST_HEAD(&round->dst);
}

struct item *round_add(struct round *round, enum kind_id id, unsigned int order)
{
	static uint64_t seed;
	const struct kind *kind = &kinds[id];
	struct item *item;
	struct folio *src, *dst;

	if (round->nr == round->room) {
		round->room = round->room ? 2 * round->room : 64;
		round->items = realloc(round->items,
				       round->room * sizeof(*round->items));
		assert_non_null(round->items);
	}
	item = memset(&round->items[round->nr], 0, sizeof(*item));
	item->kind = kind;
	item->outcome = 1;
	item->moved = 1;
	item->error = -EIO;
	item->state = round->nr % 4;
	item->anon_vma = round->nr % 5 ? &anon_vmas[round->nr % 64] : NULL;

	item->src = src = model_folio(order, ++seed);
	src->mapping = (void *)((unsigned long)kind->mapping |
				kind->mapping_flags);
	src->index = 1000 + round->nr;
	src->swapcache = kind->swapcache;
	src->hugetlb = kind->hugetlb;
	if (kind->private) {
		src->private = &privates[round->nr % 64];
		src->has_private = !kind->swapcache;
	}
	src->refs = 1 + folio_expected_ref_count(src);

	item->dst = dst = model_folio(order, ++seed);
	dst->index = INDEX_UNUSED;
	/* hugetlb has flags there; among them all three low bits. */
	if (kind->hugetlb)
		dst->private = (void *)(unsigned long)(round->nr % 8);
	else
		move_record(dst, item->state, item->anon_vma);

	list_add_tail(&src->lru, &round->src);
	list_add_tail(&dst->lru, &round->dst);
	round->nr++;
	return item;
}

void round_turn_into(struct item *item, enum kind_id id)
{
	item->kind = &kinds[id];
	item->src->mapping = (void *)item->kind->mapping;
}

void round_pin(struct item *item)
{
	item->src->refs++;
	item->extra_refs++;
}

void round_unpin(struct item *item)
{
	item->src->refs--;
	item->extra_refs--;
}

void round_free(struct round *round)
{
	unsigned int i;

	for (i = 0; i < round->nr; i++) {
		model_folio_free(round->items[i].src);
		model_folio_free(round->items[i].dst);
	}
	free(round->items);
	model.on_synchronize = NULL;
	model.on_patch = NULL;
	model.fault_in = 0;
	model_settled();
}

/* ----- the engine ----- */

static struct round *staged;

struct foliolift_engine round_engine = {
	.name = "round",
	.role = FOLIOLIFT_ROLE_TEST,
	.copy = round_engine_copy,
};

static void copy_bytes(struct foliolift_segment *seg, size_t bytes)
{
	/* By the segment's own count: a wrong one runs over the end. */
	memcpy(seg->dst->data, seg->src->data, bytes);
	seg->src->nr_reads++;
	seg->dst->nr_writes++;
}

static void engine_do(struct foliolift_segment *seg, struct item *item)
{
	size_t bytes = (size_t)seg->nr_pages * MODEL_PAGE;

	switch (item->plan) {
	case PLAN_COPY:
		copy_bytes(seg, bytes);
		item->nr_reads++;
		seg->status = 0;
		break;
	case PLAN_FAIL:
		copy_bytes(seg, bytes / 2);
		item->nr_reads++;
		seg->status = item->error;
		break;
	case PLAN_POISON:
		/* A read from here on is one too many, and it shows. */
		item->src->poisoned = true;
		seg->status = -EHWPOISON;
		break;
	default:
		copy_bytes(seg, bytes / 2);
		item->nr_reads++;
		break;
	}
}

int round_engine_copy(const struct foliolift_batch *batch)
{
	unsigned long nr_pages = 0;
	unsigned int i;

	staged->nr_calls++;
	model_check(batch->nr_segments);
	model_check(batch->nr_segments <= FOLIOLIFT_MAX_SEGMENTS);
	model_check(batch->mode == staged->mode);
	model_check(batch->reason == staged->reason);
	for (i = 0; i < batch->nr_segments; i++) {
		struct foliolift_segment *seg = &batch->segments[i];
		struct item *item;

		/* The next one that may be copied early, and no other. */
		while (staged->next < staged->nr &&
		       !staged->items[staged->next].early)
			staged->next++;
		if (staged->next == staged->nr) {
			model_fail("asked to copy more than may be copied early");
			return -1;
		}
		item = &staged->items[staged->next++];
		if (seg->src != item->src || seg->dst != item->dst) {
			model_fail("asked to copy a folio that must wait, or twice, or to a wrong one");
			return -1;
		}
		model_check(seg->nr_pages == folio_nr_pages(item->src));
		model_check(seg->status == FOLIOLIFT_PENDING);
		nr_pages += seg->nr_pages;
		engine_do(seg, item);
	}
	model_check(batch->nr_pages == nr_pages);
	return staged->engine_ret;
}

/* ----- the stage ----- */

/* All counters, in the order of struct foliolift_stats. */
#define NR_COUNTERS	(sizeof(struct foliolift_stats) / sizeof(unsigned long))

static void read_counters(unsigned long *counters)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++)
		counters[i] = model_percpu_sum(
				(unsigned long *)&foliolift_stats + i);
}

static void expect_item(struct round *round, struct item *item,
			struct foliolift_stats *stats)
{
	unsigned long *engine = stats->engine[round->use_cpu ?
					      FOLIOLIFT_ROLE_CPU :
					      FOLIOLIFT_ROLE_TEST];

	if (!item->kind->early) {
		stats->fallback[FOLIOLIFT_FALLBACK_CALLBACK]++;
		return;
	}
	if (item->extra_refs) {
		stats->fallback[FOLIOLIFT_FALLBACK_REFS]++;
		return;
	}
	item->early = true;
	if (round->use_cpu) {
		item->plan = item->src->poisoned ? PLAN_POISON : PLAN_COPY;
		item->nr_reads++;
	}
	switch (item->plan) {
	case PLAN_COPY:
		item->outcome = 0;
		engine[FOLIOLIFT_STAT_FOLIOS]++;
		engine[FOLIOLIFT_STAT_PAGES] += folio_nr_pages(item->src);
		return;
	case PLAN_FAIL:
		stats->fallback[FOLIOLIFT_FALLBACK_FAILED]++;
		break;
	case PLAN_POISON:
		item->outcome = -EHWPOISON;
		stats->poisoned++;
		break;
	default:
		stats->fallback[FOLIOLIFT_FALLBACK_DECLINED]++;
		break;
	}
	engine[FOLIOLIFT_STAT_FAILED]++;
}

/* Works out what the stage has to do; adds to @stats what it has to count. */
static unsigned int expect_stage(struct round *round,
				 struct foliolift_stats *stats)
{
	enum foliolift_role role = round->use_cpu ? FOLIOLIFT_ROLE_CPU :
						    FOLIOLIFT_ROLE_TEST;
	unsigned long min_pages = round->use_cpu ? 2 : round_engine.min_pages;
	unsigned int per_call = min_t(unsigned int, round->nr,
				       FOLIOLIFT_MAX_SEGMENTS);
	unsigned long nr_pages = 0;
	unsigned int i, nr_early = 0, nr_calls, size;

	for (i = 0; i < round->nr; i++)
		nr_pages += folio_nr_pages(round->items[i].src);
	if (round->key_off || !round->nr)
		return 0;
	if (round->reason == MR_NUMA_MISPLACED ||
	    round->reason == MR_MEMORY_FAILURE) {
		stats->fallback[FOLIOLIFT_FALLBACK_REASON] += round->nr;
		return 0;
	}
	/* By the highest power of two that fits, as far as there are classes. */
	for (size = 0; size < FOLIOLIFT_NR_SIZES - 1; size++)
		if (nr_pages < 2UL << size)
			break;
	stats->batches[size]++;
	stats->pages[size] += nr_pages;
	if (nr_pages < min_pages) {
		stats->fallback[FOLIOLIFT_FALLBACK_SMALL] += round->nr;
		return 0;
	}
	if (round->no_memory) {
		stats->fallback[FOLIOLIFT_FALLBACK_NOMEM] += round->nr;
		return 0;
	}
	for (i = 0; i < round->nr; i++) {
		expect_item(round, &round->items[i], stats);
		nr_early += round->items[i].early;
	}
	nr_calls = (nr_early + per_call - 1) / per_call;
	stats->engine[role][FOLIOLIFT_STAT_BATCHES] += nr_calls;
	if (!round->use_cpu && round->engine_ret)
		stats->engine[role][FOLIOLIFT_STAT_DECLINED] += nr_calls;
	return nr_calls;
}

/* A folio as it was before, to see that nothing else was touched. */
struct before {
	struct folio src, dst;
};

static void check_item(const struct item *item, const struct before *before)
{
	struct folio expected = before->dst;

	if (item->outcome <= 0) {
		expected.private = (void *)((unsigned long)expected.private |
					    FOLIOLIFT_OUTCOME);
		expected.index = item->outcome;
	}
	expected.nr_writes = item->dst->nr_writes;
	assert_memory_equal(item->dst, &expected, sizeof(expected));

	expected = before->src;
	expected.nr_reads = item->nr_reads;
	expected.poisoned = item->src->poisoned;
	assert_memory_equal(item->src, &expected, sizeof(expected));
	if (!item->early)
		assert_int_equal(item->dst->nr_writes, 0);
	if (item->outcome == 0)
		assert_true(model_folio_same(item->dst, item->src));
}

void round_stage(struct round *round)
{
	unsigned long expected[NR_COUNTERS], counted[NR_COUNTERS];
	struct before *before = malloc((round->nr + 1) * sizeof(*before));
	struct list_head src_head = round->src, dst_head = round->dst;
	long nr_allocs = model.nr_allocs;
	unsigned long nr_traced = model.nr_traced;
	unsigned int i, nr_calls;

	assert_non_null(before);
	for (i = 0; i < round->nr; i++) {
		before[i].src = *round->items[i].src;
		before[i].dst = *round->items[i].dst;
	}
	read_counters(expected);
	nr_calls = expect_stage(round, (struct foliolift_stats *)expected);

	assert_int_equal(foliolift_select_engine(round->use_cpu ? "cpu" :
						 round_engine.name), 0);
	foliolift_set_enabled(!round->key_off);
	model.fault_in = round->no_memory;
	staged = round;
	model_migrate_begin();
	foliolift_copy_folios(&round->src, &round->dst, round->mode,
			      round->reason);
	model_migrate_end();
	staged = NULL;
	model.fault_in = 0;

	model_settled();
	assert_int_equal(model.nr_allocs, nr_allocs);
	assert_int_equal(model.nr_traced - nr_traced, nr_calls);
	if (!round->use_cpu)
		assert_int_equal(round->nr_calls, nr_calls);
	for (i = 0; i < round->nr; i++)
		check_item(&round->items[i], &before[i]);
	free(before);
	/* The folios' own links are compared with the rest of them. */
	assert_memory_equal(&round->src, &src_head, sizeof(src_head));
	assert_memory_equal(&round->dst, &dst_head, sizeof(dst_head));
	read_counters(counted);
	for (i = 0; i < NR_COUNTERS; i++)
		assert_int_equal(counted[i], expected[i]);
}

/* ----- the move ----- */

/* What a try has to return; counts the reads that it may do. */
static int expect_move(struct item *item)
{
	int outcome = item->outcome;
	int rc;

	/* Used or void, after this try there is none left. */
	item->outcome = 1;
	if (item->kind == &kinds[INACCESSIBLE])
		return -EOPNOTSUPP;
	if (!item->kind->checks_refs) {
		/* Copies by itself, whatever was done before. */
		outcome = 1;
	} else {
		if (item->kind->buffers && item->src->buffer_held)
			return -EAGAIN;
		if (item->extra_refs)
			return -EAGAIN;
	}
	if (outcome <= 0) {
		rc = outcome;
	} else {
		item->nr_reads++;
		rc = item->src->poisoned ? -EHWPOISON : 0;
	}
	if (!rc && item->kind->checks_refs && item->src->freeze_fails)
		rc = -EAGAIN;
	return rc;
}

int round_move(struct item *item)
{
	struct folio *dst = item->dst, *src = item->src;
	void *private = src->private, *flags = dst->private;
	void *anon_vma = item->anon_vma;
	int state = item->state;
	int expected, rc;

	expected = expect_move(item);
	rc = item->kind->hugetlb ? move_hugetlb(dst, src) :
				   move_folio(dst, src, &state, &anon_vma);
	assert_int_equal(rc, expected);
	assert_int_equal(src->nr_reads, item->nr_reads);
	/* The bits that the stage put beside them have not reached the mover. */
	assert_int_equal(state, item->state);
	assert_ptr_equal(anon_vma, item->anon_vma);

	if (!rc) {
		assert_true(model_folio_same(dst, src));
		assert_int_equal(dst->index, src->index);
		assert_ptr_equal(dst->mapping, src->mapping);
	}
	if (item->kind->hugetlb)
		assert_ptr_equal(dst->private, flags);
	else if (rc == -EAGAIN)
		assert_ptr_equal(dst->private,
				 (char *)item->anon_vma + item->state);
	else
		assert_ptr_equal(dst->private, rc ? NULL : private);
	if (rc != -EAGAIN)
		item->moved = rc;
	return rc;
}

void round_move_all(struct round *round)
{
	unsigned int i;

	for (i = 0; i < round->nr; i++) {
		struct item *item = &round->items[i];

		if (item->moved <= 0)
			continue;
		while (item->extra_refs)
			round_unpin(item);
		item->src->buffer_held = false;
		while (round_move(item) == -EAGAIN)
			;
	}
}

/* ----- setup ----- */

int round_setup(void **state)
{
	static const struct address_space_operations swap_ops = {
		.migrate_folio = migrate_folio,
	};

	model_swap_space.a_ops = &swap_ops;
	/* So that copying takes no time, and all that is counted is known. */
	model.clock_ns = 1;
	if (model_start(state) || model_initcall())
		return -1;
	return foliolift_register_engine(&round_engine);
}

int round_teardown(void **state)
{
	foliolift_unregister_engine(&round_engine);
	return 0;
}
