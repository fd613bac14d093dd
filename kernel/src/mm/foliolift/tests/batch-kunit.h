/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit tests of the copy stage, on real folios that were never mapped; included at
 * the end of batch.c.
 */
#ifdef CONFIG_FOLIOLIFT_KUNIT_TEST

#include <kunit/test.h>
#include <linux/highmem.h>

#define FOLIOLIFT_KUNIT_FOLIOS	5

struct foliolift_kunit_lists {
	struct folio *src[FOLIOLIFT_KUNIT_FOLIOS];
	struct folio *dst[FOLIOLIFT_KUNIT_FOLIOS];
	struct list_head src_folios;
	struct list_head dst_folios;
};

static void foliolift_kunit_put(void *folio)
{
	folio_put(folio);
}

static struct folio *foliolift_kunit_folio(struct kunit *test, u8 fill)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);
	void *data;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	kunit_add_action(test, foliolift_kunit_put, folio);
	data = kmap_local_folio(folio, 0);
	memset(data, fill, PAGE_SIZE);
	kunmap_local(data);
	return folio;
}

static bool foliolift_kunit_holds(struct folio *folio, u8 fill)
{
	void *data = kmap_local_folio(folio, 0);
	bool holds = !memchr_inv(data, fill, PAGE_SIZE);

	kunmap_local(data);
	return holds;
}

/* As migrate_pages_batch() has them after the flush: folio i is full of i + 1. */
static struct foliolift_kunit_lists *foliolift_kunit_lists(struct kunit *test)
{
	struct foliolift_kunit_lists *lists;
	int i;

	lists = kunit_kzalloc(test, sizeof(*lists), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lists);
	INIT_LIST_HEAD(&lists->src_folios);
	INIT_LIST_HEAD(&lists->dst_folios);
	for (i = 0; i < FOLIOLIFT_KUNIT_FOLIOS; i++) {
		lists->src[i] = foliolift_kunit_folio(test, i + 1);
		lists->dst[i] = foliolift_kunit_folio(test, 0xff);
		lists->dst[i]->private = NULL;
		list_add_tail(&lists->src[i]->lru, &lists->src_folios);
		list_add_tail(&lists->dst[i]->lru, &lists->dst_folios);
	}
	return lists;
}

/* Do to @dst what its move does, up to and with the copy. */
static int foliolift_kunit_move(struct folio *dst, struct folio *src)
{
	int state = (unsigned long)dst->private & FOLIOLIFT_OUTCOME;
	int rc;

	dst->private = NULL;
	foliolift_outcome_arm(dst, &state);
	rc = foliolift_copy_folio(dst, src);
	foliolift_outcome_drop(dst);
	return rc;
}

static int foliolift_kunit_status;	/* what the engine reports of folio 2 */

static int foliolift_kunit_copy_but_2(const struct foliolift_batch *batch)
{
	foliolift_cpu_copy(batch);
	batch->segments[2].status = foliolift_kunit_status;
	/* Nothing that the move step would notice if it trusted it. */
	folio_zero_range(batch->segments[2].dst, 0, PAGE_SIZE);
	return 0;
}

static void foliolift_kunit_run(struct foliolift_kunit_lists *lists,
				int (*copy)(const struct foliolift_batch *batch))
{
	static const struct foliolift_engine engine = {
		.name = "kunit",
		.role = FOLIOLIFT_ROLE_TEST,
	};
	struct foliolift_segment segments[FOLIOLIFT_KUNIT_FOLIOS];
	struct foliolift_batch batch = { .segments = segments };
	struct folio *src, *dst;

	src = list_first_entry(&lists->src_folios, struct folio, lru);
	dst = list_first_entry(&lists->dst_folios, struct folio, lru);
	foliolift_collect(&batch, FOLIOLIFT_KUNIT_FOLIOS, &lists->src_folios,
			  &src, &dst);
	if (batch.nr_segments)
		foliolift_settle(&batch, &engine, copy(&batch), 0);
}

static void foliolift_kunit_copies(struct kunit *test)
{
	struct foliolift_kunit_lists *lists = foliolift_kunit_lists(test);
	int i;

	foliolift_kunit_run(lists, foliolift_cpu_copy);
	for (i = 0; i < FOLIOLIFT_KUNIT_FOLIOS; i++) {
		KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(lists->dst[i],
							      i + 1));
		/* That the move does not copy again shows in what it finds. */
		folio_zero_range(lists->dst[i], 0, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, foliolift_kunit_move(lists->dst[i],
							   lists->src[i]), 0);
		KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(lists->dst[i], 0));
		/* Used once: now it does. */
		KUNIT_EXPECT_EQ(test, foliolift_kunit_move(lists->dst[i],
							   lists->src[i]), 0);
		KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(lists->dst[i],
							      i + 1));
	}
}

static void foliolift_kunit_leaves_referenced(struct kunit *test)
{
	struct foliolift_kunit_lists *lists = foliolift_kunit_lists(test);

	folio_get(lists->src[1]);
	foliolift_kunit_run(lists, foliolift_cpu_copy);
	folio_put(lists->src[1]);
	KUNIT_EXPECT_NULL(test, lists->dst[1]->private);
	KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(lists->dst[1], 0xff));
	KUNIT_EXPECT_NOT_NULL(test, lists->dst[2]->private);
}

static void foliolift_kunit_falls_back(struct kunit *test)
{
	static const int statuses[] = { FOLIOLIFT_PENDING, -EIO, -EAGAIN };
	int i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct foliolift_kunit_lists *lists = foliolift_kunit_lists(test);

		foliolift_kunit_status = statuses[i];
		foliolift_kunit_run(lists, foliolift_kunit_copy_but_2);
		KUNIT_EXPECT_EQ(test, foliolift_kunit_move(lists->dst[2],
							   lists->src[2]), 0);
		KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(lists->dst[2], 3));
	}
}

static void foliolift_kunit_fails_poisoned(struct kunit *test)
{
	struct foliolift_kunit_lists *lists = foliolift_kunit_lists(test);

	foliolift_kunit_status = -EHWPOISON;
	foliolift_kunit_run(lists, foliolift_kunit_copy_but_2);
	KUNIT_EXPECT_EQ(test, foliolift_kunit_move(lists->dst[2], lists->src[2]),
			-EHWPOISON);
	KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(lists->dst[2], 0));
	KUNIT_EXPECT_EQ(test, foliolift_kunit_move(lists->dst[3], lists->src[3]),
			0);
}

/* Flags that hugetlb keeps in a destination's private field are not ours. */
static void foliolift_kunit_heeds_hugetlb(struct kunit *test)
{
	struct folio *src = foliolift_kunit_folio(test, 1);
	struct folio *dst = foliolift_kunit_folio(test, 0xff);
	unsigned long flags;

	for (flags = 0; flags < 64; flags++) {
		folio_zero_range(dst, 0, PAGE_SIZE);
		dst->private = (void *)flags;
		KUNIT_EXPECT_EQ(test, foliolift_copy_folio(dst, src), 0);
		KUNIT_EXPECT_TRUE(test, foliolift_kunit_holds(dst, 1));
		KUNIT_EXPECT_PTR_EQ(test, dst->private, (void *)flags);
	}
	dst->private = NULL;
}

static void foliolift_kunit_limits(struct kunit *test)
{
	const struct foliolift_limit limit = { .nr_pages = 8, .nr_folios = 4 };

	KUNIT_EXPECT_FALSE(test, foliolift_batch_full(&limit, 7, 3));
	KUNIT_EXPECT_TRUE(test, foliolift_batch_full(&limit, 8, 1));
	KUNIT_EXPECT_TRUE(test, foliolift_batch_full(&limit, 512, 1));
	KUNIT_EXPECT_TRUE(test, foliolift_batch_full(&limit, 4, 4));
}

static struct kunit_case foliolift_batch_cases[] = {
	KUNIT_CASE(foliolift_kunit_copies),
	KUNIT_CASE(foliolift_kunit_leaves_referenced),
	KUNIT_CASE(foliolift_kunit_falls_back),
	KUNIT_CASE(foliolift_kunit_fails_poisoned),
	KUNIT_CASE(foliolift_kunit_heeds_hugetlb),
	KUNIT_CASE(foliolift_kunit_limits),
	{},
};

static struct kunit_suite foliolift_batch_suite = {
	.name = "foliolift-batch",
	.test_cases = foliolift_batch_cases,
};

kunit_test_suite(foliolift_batch_suite);

#endif /* CONFIG_FOLIOLIFT_KUNIT_TEST */
