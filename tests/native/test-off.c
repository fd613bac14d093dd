// SPDX-License-Identifier: GPL-2.0
/* What mm/migrate.c gets from migrate.h when foliolift is not configured. */
#undef CONFIG_FOLIOLIFT

#include "cmocka-native.h"
#include "model.h"

#include "mm/foliolift/migrate.h"

static void test_copy_is_the_stock_copy(void **state)
{
	struct folio *src = model_folio(3, 1), *dst = model_folio(3, 2);

	assert_int_equal(foliolift_copy_folio(dst, src), 0);
	assert_true(model_folio_same(dst, src));
	assert_int_equal(src->nr_reads, 1);
	src->poisoned = true;
	assert_int_equal(foliolift_copy_folio(dst, src), -EHWPOISON);
	model_folio_free(src);
	model_folio_free(dst);
}

static void test_limit_is_the_stock_limit(void **state)
{
	struct foliolift_limit limit = foliolift_batch_limit(512);

	assert_false(foliolift_batch_full(&limit, 511, 511));
	assert_true(foliolift_batch_full(&limit, 512, 1));
	assert_true(foliolift_batch_full(&limit, 512, 512));
}

static void test_nothing_is_marked(void **state)
{
	struct folio *folio = model_folio(0, 1), *dst = model_folio(0, 2);
	LIST_HEAD(src_folios);
	LIST_HEAD(dst_folios);
	int flags = 7;

	list_add_tail(&folio->lru, &src_folios);
	list_add_tail(&dst->lru, &dst_folios);
	dst->private = (void *)7;
	foliolift_copy_folios(&src_folios, &dst_folios, MIGRATE_ASYNC, 0);
	foliolift_outcome_arm(dst, &flags);
	foliolift_outcome_drop(dst);
	foliolift_trace(copy, &src_folios, MIGRATE_ASYNC, 0);
	assert_int_equal((unsigned long)dst->private, 7);
	assert_int_equal(flags, 7);
	/* A flag of no bits, so that the mask in mm/migrate.c stays as it was. */
	assert_int_equal(FOLIOLIFT_OUTCOME, 0);
	assert_int_equal(folio->nr_reads, 0);
	model_folio_free(folio);
	model_folio_free(dst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_is_the_stock_copy),
		cmocka_unit_test(test_limit_is_the_stock_limit),
		cmocka_unit_test(test_nothing_is_marked),
	};

	return run_group("off", tests, model_start, NULL);
}
