// SPDX-License-Identifier: GPL-2.0
/* sysfs.c: what the files accept, refuse and show. */
#include "cmocka-native.h"
#include "model.h"

#include "mm/foliolift/internal.h"

static const char *show(const char *file)
{
	static char path[64];
	/* On the heap, so that writing past the page is seen. */
	static char *buf;
	ssize_t len;

	if (!buf)
		buf = malloc(PAGE_SIZE);
	snprintf(path, sizeof(path), "foliolift/%s", file);
	len = model_read(path, buf);
	if (len < 0)
		return NULL;
	assert_int_equal(len, strlen(buf));
	return buf;
}

static ssize_t store(const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "foliolift/%s", file);
	return model_write(path, text);
}

#define assert_shows(file, text)	assert_string_equal(show(file), text "\n")

struct input {
	const char *text;
	const char *shows;	/* after it was taken */
	int err;		/* or it is refused, and nothing changes */
};

static void check_inputs(const char *file, const struct input *input,
			 const char *old)
{
	for (; input->text; input++) {
		ssize_t ret;

		assert_true(store(file, old) > 0);
		ret = store(file, input->text);
		if (ret != (input->err ?: (ssize_t)strlen(input->text)))
			fail_msg("\"%s\" to %s returns %zd", input->text, file, ret);
		if (strcmp(show(file), input->err ? old : input->shows))
			fail_msg("%s is %s after \"%s\"", file, show(file),
				 input->text);
	}
}

/* ----- coming up ----- */

static struct foliolift_engine engine = {
	.name = "e", .role = FOLIOLIFT_ROLE_DMA, .copy = foliolift_cpu_copy,
};

/* Has to be the first test: the last of its attempts succeeds. */
static void test_failed_init_leaves_nothing(void **state)
{
	int fault;

	for (fault = 1; ; fault++) {
		model.fault_in = fault;
		model.faulted = false;
		if (!model_initcall())
			break;
		assert_true(model.faulted);
		assert_int_equal(model.nr_allocs, 0);
		assert_int_equal(model.nr_kobjects, 0);
		assert_false(model_dir("foliolift"));
		assert_int_equal(model_stray_dirs(), 0);
	}
	model.fault_in = 0;
	assert_in_range(fault, 8, 20);
	assert_true(model_dir("foliolift/engines/cpu"));
	model_settled();
}

/* Before the above: a driver comes, but there is no directory for its own. */
static void test_engine_after_failed_init_shows_nowhere(void **state)
{
	model.fault_in = 1;
	assert_int_equal(model_initcall(), -ENOMEM);
	foliolift_register_engine(&engine);
	assert_int_equal(model_stray_dirs(), 0);
}

/* Also when the test has failed, so that the next one finds nothing. */
static int unregister(void **state)
{
	model_hush(true);
	foliolift_unregister_engine(&engine);
	model_hush(false);
	return 0;
}

static void test_defaults(void **state)
{
	assert_shows("enabled", "0");
	assert_shows("engine", "cpu");
	assert_shows("available_engines", "cpu");
	assert_shows("batch_bytes", "8388608");
	assert_shows("batch_folios", "512");
	assert_shows("engines/cpu/batches", "0");
}

/* ----- knobs ----- */

static void test_enabled(void **state)
{
	static const struct input inputs[] = {
		{ "1", "1\n" }, { "1\n", "1\n" }, { "y", "1\n" }, { "on\n", "1\n" },
		{ "", .err = -EINVAL }, { "\n", .err = -EINVAL },
		{ " 1", .err = -EINVAL }, { "2", .err = -EINVAL },
		{ "-1", .err = -EINVAL }, { "o", .err = -EINVAL },
		{ "enabled", .err = -EINVAL },
		{ NULL }
	};

	check_inputs("enabled", inputs, "0\n");
	store("enabled", "1");
	assert_true(static_key_enabled(&foliolift_key));
	store("enabled", "0");
	assert_false(static_key_enabled(&foliolift_key));
}

static void test_engine(void **state)
{
	static const struct input inputs[] = {
		{ "e", "e\n" }, { "e\n", "e\n" },
		{ "", .err = -ENODEV }, { "\n", .err = -ENODEV },
		{ "ee", .err = -ENODEV }, { "e\n\n", .err = -ENODEV },
		{ " e", .err = -ENODEV }, { "E", .err = -ENODEV },
		{ "e cpu", .err = -ENODEV }, { "mt", .err = -ENODEV },
		{ NULL }
	};

	assert_int_equal(foliolift_register_engine(&engine), 0);
	assert_shows("available_engines", "cpu e");
	check_inputs("engine", inputs, "cpu\n");
	store("engine", "e");
	foliolift_unregister_engine(&engine);
	assert_shows("engine", "cpu");
	assert_shows("available_engines", "cpu");
}

static void test_batch_bytes(void **state)
{
	static const struct input inputs[] = {
		{ "4096", "4096\n" }, { "4096\n", "4096\n" }, { "4k", "4096\n" },
		{ "4K\n", "4096\n" }, { "2M", "2097152\n" }, { "2m \n", "2097152\n" },
		{ "0x200000", "2097152\n" }, { "256M", "268435456\n" },
		{ "268435456", "268435456\n" },
		/* Whole pages only. */
		{ "8191", "4096\n" }, { "8192", "8192\n" },
		/* Too little, too much. */
		{ "0", .err = -EINVAL }, { "1", .err = -EINVAL },
		{ "4095", .err = -EINVAL }, { "268435457", .err = -EINVAL },
		{ "257M", .err = -EINVAL }, { "1G", .err = -EINVAL },
		{ "1T", .err = -EINVAL }, { "1E", .err = -EINVAL },
		{ "18446744073709551615", .err = -EINVAL },
		/* No number, or more than a number. */
		{ "", .err = -EINVAL }, { "\n", .err = -EINVAL },
		{ "M", .err = -EINVAL }, { "-1", .err = -EINVAL },
		{ "-8M", .err = -EINVAL }, { "+8M", .err = -EINVAL },
		{ " 8M", .err = -EINVAL }, { "8MB", .err = -EINVAL },
		{ "8 M", .err = -EINVAL }, { "8M8", .err = -EINVAL },
		{ "8M 8M", .err = -EINVAL }, { "8.5M", .err = -EINVAL },
		{ "8X", .err = -EINVAL }, { "all", .err = -EINVAL },
		{ "0x", .err = -EINVAL },
		{ NULL }
	};

	check_inputs("batch_bytes", inputs, "8388608\n");
}

/* 2^64 and a little more, which wraps to the little. */
static void test_batch_bytes_overflow(void **state)
{
	static const struct input inputs[] = {
		{ "18446744073709555712", .err = -EINVAL },
		{ "0x10000000000001000", .err = -EINVAL },
		{ "17592186044418M", .err = -EINVAL },
		{ "18014398509481988K", .err = -EINVAL },
		{ "99999999999999999999999999999999K", .err = -EINVAL },
		{ NULL }
	};

	check_inputs("batch_bytes", inputs, "8388608\n");
}

static void test_batch_folios(void **state)
{
	static const struct input inputs[] = {
		{ "1", "1\n" }, { "512\n", "512\n" }, { "16384", "16384\n" },
		{ "0x10", .err = -EINVAL },
		{ "0", .err = -EINVAL }, { "16385", .err = -EINVAL },
		{ "4294967295", .err = -EINVAL }, { "4294967297", .err = -ERANGE },
		{ "99999999999999999999999", .err = -ERANGE },
		{ "", .err = -EINVAL }, { "\n", .err = -EINVAL },
		{ "-1", .err = -EINVAL }, { " 1", .err = -EINVAL },
		{ "1K", .err = -EINVAL }, { "1 ", .err = -EINVAL },
		{ "1.5", .err = -EINVAL }, { "many", .err = -EINVAL },
		{ NULL }
	};

	check_inputs("batch_folios", inputs, "512\n");
}

/* ----- counters ----- */

struct counter {
	const char *file;
	unsigned long *counter;
};

#define STAT(file, member)	{ file, &foliolift_stats.member }

static void test_each_file_shows_its_counter(void **state)
{
	static const struct counter counters[] = {
		STAT("stats/fallback_refs", fallback[FOLIOLIFT_FALLBACK_REFS]),
		STAT("stats/fallback_callback",
		     fallback[FOLIOLIFT_FALLBACK_CALLBACK]),
		STAT("stats/fallback_failed", fallback[FOLIOLIFT_FALLBACK_FAILED]),
		STAT("stats/fallback_declined",
		     fallback[FOLIOLIFT_FALLBACK_DECLINED]),
		STAT("stats/fallback_nomem", fallback[FOLIOLIFT_FALLBACK_NOMEM]),
		STAT("stats/poisoned", poisoned),
#define ENGINE(name, role)						\
		STAT("engines/" name "/batches",			\
		     engine[role][FOLIOLIFT_STAT_BATCHES]),		\
		STAT("engines/" name "/folios",				\
		     engine[role][FOLIOLIFT_STAT_FOLIOS]),		\
		STAT("engines/" name "/pages",				\
		     engine[role][FOLIOLIFT_STAT_PAGES]),		\
		STAT("engines/" name "/failed_folios",			\
		     engine[role][FOLIOLIFT_STAT_FAILED]),		\
		STAT("engines/" name "/declined_batches",		\
		     engine[role][FOLIOLIFT_STAT_DECLINED])
		ENGINE("cpu", FOLIOLIFT_ROLE_CPU),
		ENGINE("e", FOLIOLIFT_ROLE_DMA),
	};
	unsigned int i, turn;
	char text[32];

	assert_int_equal(foliolift_register_engine(&engine), 0);
	/* From every CPU, each counter its own amount. */
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		for (model_cpu = 0; model_cpu < NR_CPUS; model_cpu++)
			this_cpu_add(*counters[i].counter,
				     (i + 1) * (model_cpu + 1) * 1000000007UL);
	model_cpu = 0;
	/* The engine's outlive the engine. */
	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < ARRAY_SIZE(counters); i++) {
			snprintf(text, sizeof(text), "%lu\n",
				 (i + 1) * 10 * 1000000007UL);
			assert_string_equal(show(counters[i].file), text);
			assert_int_equal(store(counters[i].file, "0"), -EIO);
		}
		foliolift_unregister_engine(&engine);
		assert_null(show("engines/e/batches"));
		assert_int_equal(foliolift_register_engine(&engine), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			test_engine_after_failed_init_shows_nowhere, unregister),
		cmocka_unit_test(test_failed_init_leaves_nothing),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_enabled),
		cmocka_unit_test_teardown(test_engine, unregister),
		cmocka_unit_test(test_batch_bytes),
		cmocka_unit_test(test_batch_bytes_overflow),
		cmocka_unit_test(test_batch_folios),
		cmocka_unit_test_teardown(test_each_file_shows_its_counter,
					  unregister),
	};

	return run_group("sysfs", tests, model_start, NULL);
}
