// SPDX-License-Identifier: GPL-2.0
/* Where migrate_pages() cuts its list: foliolift_batch_limit() and _full(). */
#include "cmocka-native.h"
#include "model.h"

#include "mm/foliolift/internal.h"

#define STOCK	512

/* How many folios of @orders go into the first batch, as the hook asks. */
static unsigned int cut(const struct foliolift_limit *limit,
			const unsigned char *orders, unsigned int nr)
{
	unsigned int nr_pages = 0, i;

	for (i = 0; i < nr; i++) {
		nr_pages += 1U << orders[i];
		if (foliolift_batch_full(limit, nr_pages, i + 1))
			return i + 1;
	}
	return nr;
}

/* The same, told page by page: take folios while there is room for a page. */
static unsigned int naive_cut(unsigned int room_pages, unsigned int room_folios,
			      const unsigned char *orders, unsigned int nr)
{
	unsigned int i, page;

	for (i = 0; i < nr && room_pages && room_folios; i++) {
		room_folios--;
		for (page = 0; page < 1U << orders[i]; page++)
			if (room_pages)
				room_pages--;
	}
	return i;
}

static void random_orders(struct rng *rng, unsigned char *orders, unsigned int nr)
{
	unsigned int bound = 1 + rng_below(rng, 10);

	while (nr--)
		*orders++ = rng_below(rng, bound);
}

static void test_batches_are_cut_as_by_the_page(void **state)
{
	struct rng rng = { model_seed() };
	unsigned char orders[300];
	unsigned int i;

	for (i = 0; i < 20000; i++) {
		struct foliolift_limit limit = {
			.nr_pages = 1 + rng_below(&rng, i & 1 ? 16 : 4096),
			.nr_folios = 1 + rng_below(&rng, i & 2 ? 8 : 400),
		};
		unsigned int nr = 1 + rng_below(&rng, ARRAY_SIZE(orders));

		random_orders(&rng, orders, nr);
		assert_int_equal(cut(&limit, orders, nr),
				 naive_cut(limit.nr_pages, limit.nr_folios,
					   orders, nr));
	}
}

/* Off, every list is cut where the kernel without foliolift cuts it. */
static void test_off_is_stock(void **state)
{
	struct rng rng = { model_seed() };
	struct foliolift_limit limit;
	unsigned char orders[1000];
	unsigned int i;

	foliolift_set_enabled(false);
	limit = foliolift_batch_limit(STOCK);
	for (i = 0; i < 2000; i++) {
		random_orders(&rng, orders, ARRAY_SIZE(orders));
		assert_int_equal(cut(&limit, orders, ARRAY_SIZE(orders)),
				 naive_cut(STOCK, UINT_MAX, orders,
					   ARRAY_SIZE(orders)));
	}
}

static void test_on_follows_the_knobs(void **state)
{
	struct foliolift_limit limit;

	foliolift_set_enabled(true);
	assert_true(model_write("foliolift/batch_bytes", "64K\n") > 0);
	assert_true(model_write("foliolift/batch_folios", "7\n") > 0);
	limit = foliolift_batch_limit(STOCK);
	assert_int_equal(limit.nr_pages, 16);
	assert_int_equal(limit.nr_folios, 7);

	foliolift_set_enabled(false);
	limit = foliolift_batch_limit(STOCK);
	assert_int_equal(limit.nr_pages, STOCK);
	assert_int_equal(limit.nr_folios, STOCK);
}

/* Split folios come in one list, however long: no batch of it may exceed the limit. */
static void test_split_folios_are_cut_too(void **state)
{
	static const struct foliolift_limit limit = {
		.nr_pages = 300, .nr_folios = 7,
	};
	static struct folio folios[100];
	unsigned int i, seen = 0;
	LIST_HEAD(batch);
	LIST_HEAD(from);

	for (i = 0; i < ARRAY_SIZE(folios); i++)
		list_add_tail(&folios[i].lru, &from);
	while (!list_empty(&from)) {
		unsigned int nr = 0;
		struct folio *folio;

		foliolift_cut(&batch, &from, &limit);
		list_for_each_entry(folio, &batch, lru) {
			assert_ptr_equal(folio, &folios[seen++]);
			nr++;
		}
		assert_int_equal(nr, seen < 100 ? 7 : 100 % 7);
		INIT_LIST_HEAD(&batch);
	}
	assert_int_equal(seen, 100);
}

static int setup(void **state)
{
	return model_start(state) || model_initcall();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches_are_cut_as_by_the_page),
		cmocka_unit_test(test_off_is_stock),
		cmocka_unit_test(test_on_follows_the_knobs),
		cmocka_unit_test(test_split_folios_are_cut_too),
	};

	return run_group("limit", tests, setup, NULL);
}
