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

/* What an engine brings along is shown beside its counters. */
static ssize_t own_show(struct kobject *kobj, struct kobj_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "its own\n");
}

static struct kobj_attribute own_attr = __ATTR_RO(own);
static struct attribute *own_attrs[] = { &own_attr.attr, NULL };
static const struct attribute_group own_group = { .attrs = own_attrs };
static const struct attribute_group own_sub_group = {
	.name = "sub", .attrs = own_attrs,
};

static const struct attribute_group *groups[] = {
	&own_group, &own_sub_group, NULL,
};

static void set_width(unsigned int width)
{
}

static struct foliolift_engine engine = {
	.name = "e", .role = FOLIOLIFT_ROLE_DMA, .copy = foliolift_cpu_copy,
	.max_width = 5, .set_width = set_width, .groups = groups,
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
	assert_shows("engine", "auto");
	assert_shows("active_engine", "cpu");
	assert_shows("available_engines", "cpu auto");
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
	assert_shows("available_engines", "cpu e auto");
	check_inputs("engine", inputs, "cpu\n");
	store("engine", "e");
	assert_shows("active_engine", "e");
	assert_int_equal(store("active_engine", "cpu"), -EIO);
	foliolift_unregister_engine(&engine);
	assert_shows("engine", "cpu");
	assert_shows("available_engines", "cpu auto");
	store("engine", "auto");
	assert_shows("engine", "auto");
	assert_shows("active_engine", "cpu");
	store("engine", "cpu");
}

static void test_engines_own_files(void **state)
{
	long nr_kobjects = model.nr_kobjects;

	assert_null(show("engines/e/own"));
	assert_int_equal(foliolift_register_engine(&engine), 0);
	assert_shows("engines/e/own", "its own");
	assert_shows("engines/e/sub/own", "its own");
	assert_shows("engines/e/pages", "0");
	foliolift_unregister_engine(&engine);
	assert_null(show("engines/e/own"));
	assert_int_equal(model.nr_kobjects, nr_kobjects);
}

/* A page of 4096 bytes in 512 nanoseconds: 8 gigabytes a second. */
static int copy_timed(const struct foliolift_batch *batch)
{
	model.clock_ns += 123 + batch->nr_pages * 512;
	return foliolift_cpu_copy(batch);
}

static void test_speeds(void **state)
{
	engine.copy = copy_timed;
	assert_int_equal(foliolift_register_engine(&engine), 0);
	assert_shows("engines/e/speed/1", "0");
	model.clock_ns = 1;
	assert_int_equal(store("calibrate", "0"), -EINVAL);
	assert_int_equal(store("calibrate", ""), -EINVAL);
	assert_shows("engines/e/speed/1", "0");
	assert_int_equal(store("calibrate", "1\n"), 2);
	assert_null(show("calibrate"));
	assert_shows("engines/e/speed/1", "8000");
	assert_shows("engines/e/speed/4", "8000");
	assert_shows("engines/e/start_ns/4", "123");
	/* Five channels are no eight; one CPU is no two. */
	assert_null(show("engines/e/speed/8"));
	assert_non_null(show("engines/cpu/speed/1"));
	assert_null(show("engines/cpu/speed/2"));
	model.fault_in = 1;
	assert_int_equal(store("calibrate", "1"), -EAGAIN);
	assert_shows("engines/cpu/speed/1", "0");
	model.clock_ns = 0;
	engine.copy = foliolift_cpu_copy;
}

static void test_reasons(void **state)
{
	static const struct {
		const char *file;
		enum migrate_reason reason;
		const char *shows;
	} files[] = {
		{ "reasons/compaction", MR_COMPACTION, "1\n" },
		{ "reasons/memory_failure", MR_MEMORY_FAILURE, "0\n" },
		{ "reasons/memory_hotplug", MR_MEMORY_HOTPLUG, "1\n" },
		{ "reasons/syscall", MR_SYSCALL, "1\n" },
		{ "reasons/mempolicy_mbind", MR_MEMPOLICY_MBIND, "1\n" },
		{ "reasons/numa_misplaced", MR_NUMA_MISPLACED, "0\n" },
		{ "reasons/contig_range", MR_CONTIG_RANGE, "1\n" },
		{ "reasons/longterm_pin", MR_LONGTERM_PIN, "1\n" },
		{ "reasons/demotion", MR_DEMOTION, "1\n" },
		{ "reasons/damon", MR_DAMON, "1\n" },
	};
	unsigned long was = foliolift_reasons;
	unsigned int i;

	assert_int_equal(ARRAY_SIZE(files), MR_TYPES);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		bool on = files[i].shows[0] == '1';

		assert_string_equal(show(files[i].file), files[i].shows);
		assert_int_equal(store(files[i].file, "2"), -EINVAL);
		assert_int_equal(foliolift_reasons, was);
		assert_int_equal(store(files[i].file, on ? "n" : "y"), 1);
		assert_int_equal(foliolift_reasons, was ^ BIT(files[i].reason));
		assert_string_equal(show(files[i].file), on ? "0\n" : "1\n");
		store(files[i].file, on ? "1" : "0");
		assert_int_equal(foliolift_reasons, was);
	}
}

static void test_switches_are_counted(void **state)
{
	unsigned long nr = foliolift_get_switches();
	char text[32];

	foliolift_register_engine(&engine);
	store("engine", "e");
	store("engine", "e");
	store("engine", "auto");
	snprintf(text, sizeof(text), "%lu\n", nr + 1);
	assert_string_equal(show("stats/engine_switches"), text);
	store("engine", "cpu");
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
		STAT("stats/fallback_small", fallback[FOLIOLIFT_FALLBACK_SMALL]),
		STAT("stats/fallback_reason",
		     fallback[FOLIOLIFT_FALLBACK_REASON]),
		STAT("stats/poisoned", poisoned),
		STAT("stats/batches", batches[FOLIOLIFT_NR_SIZES - 1]),
		STAT("stats/pages", pages[2]),
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
				 (i + 1) * (NR_CPUS * (NR_CPUS + 1) / 2) *
				 1000000007UL);
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
		cmocka_unit_test_teardown(test_engines_own_files, unregister),
		cmocka_unit_test_teardown(test_speeds, unregister),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test_teardown(test_switches_are_counted, unregister),
		cmocka_unit_test(test_batch_bytes),
		cmocka_unit_test(test_batch_bytes_overflow),
		cmocka_unit_test(test_batch_folios),
		cmocka_unit_test_teardown(test_each_file_shows_its_counter,
					  unregister),
	};

	return run_group("sysfs", tests, model_start, NULL);
}
