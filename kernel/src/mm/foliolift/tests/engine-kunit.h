/* SPDX-License-Identifier: GPL-2.0 */
/*
 * KUnit tests of the engines' registration and selection; included at the end of
 * engine.c.  They may run on a machine whose engine is in use (through debugfs), so
 * each leaves the selection as it found it.
 */
#ifdef CONFIG_FOLIOLIFT_KUNIT_TEST

#include <kunit/test.h>

static int foliolift_kunit_copy(const struct foliolift_batch *batch)
{
	return -EBUSY;
}

static struct foliolift_engine foliolift_kunit_engine = {
	.name = "kunit",
	.role = FOLIOLIFT_ROLE_TEST,
	.owner = THIS_MODULE,
	.copy = foliolift_kunit_copy,
};

/* The role may be taken by the test engine's module. */
static void foliolift_kunit_register(struct kunit *test)
{
	if (foliolift_register_engine(&foliolift_kunit_engine))
		kunit_skip(test, "the test role is taken; unload foliolift_test_engine");
}

static void foliolift_kunit_unregister(void *unused)
{
	foliolift_unregister_engine(&foliolift_kunit_engine);
}

static void foliolift_kunit_refuses_bad(struct kunit *test)
{
	static const struct foliolift_engine good = {
		.name = "kunit",
		.role = FOLIOLIFT_ROLE_TEST,
		.copy = foliolift_kunit_copy,
	};
	static const char * const bad_names[] = {
		NULL, "", "Upper", "sp ace", "new\nline", "0123456789abcdef",
		"auto",
	};
	struct foliolift_engine engine;
	int i;

	KUNIT_EXPECT_EQ(test, foliolift_register_engine(NULL), -EINVAL);

	engine = good;
	engine.copy = NULL;
	KUNIT_EXPECT_EQ(test, foliolift_register_engine(&engine), -EINVAL);

	engine = good;
	engine.max_width = 2;
	KUNIT_EXPECT_EQ(test, foliolift_register_engine(&engine), -EINVAL);

	engine = good;
	engine.role = FOLIOLIFT_ROLE_CPU;
	KUNIT_EXPECT_EQ(test, foliolift_register_engine(&engine), -EINVAL);

	engine = good;
	engine.role = FOLIOLIFT_NR_ROLES;
	KUNIT_EXPECT_EQ(test, foliolift_register_engine(&engine), -EINVAL);

	for (i = 0; i < ARRAY_SIZE(bad_names); i++) {
		engine = good;
		engine.name = bad_names[i];
		KUNIT_EXPECT_EQ(test, foliolift_register_engine(&engine),
				-EINVAL);
	}
}

static void foliolift_kunit_refuses_second(struct kunit *test)
{
	struct foliolift_engine other = foliolift_kunit_engine;

	foliolift_kunit_register(test);
	kunit_add_action(test, foliolift_kunit_unregister, NULL);

	KUNIT_EXPECT_EQ(test, foliolift_register_engine(&foliolift_kunit_engine),
			-EBUSY);
	other.name = "kunit-other";
	KUNIT_EXPECT_EQ(test, foliolift_register_engine(&other), -EBUSY);
	/* Not registered, and of the same role as one that is: nothing happens. */
	foliolift_unregister_engine(&other);
	KUNIT_EXPECT_EQ(test, foliolift_select_engine("kunit"), 0);
	KUNIT_EXPECT_EQ(test, foliolift_select_engine("cpu"), 0);
}

static void foliolift_kunit_selects(struct kunit *test)
{
	const struct foliolift_engine *engine;
	int idx;

	KUNIT_EXPECT_EQ(test, foliolift_select_engine("none-such"), -ENODEV);

	foliolift_kunit_register(test);
	kunit_add_action(test, foliolift_kunit_unregister, NULL);
	KUNIT_ASSERT_EQ(test, foliolift_select_engine("kunit\n"), 0);

	/* A min_pages of 0 is taken as 1. */
	engine = foliolift_enter(1, &idx);
	foliolift_exit(idx);
	KUNIT_EXPECT_PTR_EQ(test, engine, &foliolift_kunit_engine);

	foliolift_unregister_engine(&foliolift_kunit_engine);
	engine = foliolift_enter(FOLIOLIFT_CPU_MIN_PAGES, &idx);
	foliolift_exit(idx);
	KUNIT_EXPECT_PTR_EQ(test, engine, &foliolift_cpu);
	engine = foliolift_enter(FOLIOLIFT_CPU_MIN_PAGES - 1, &idx);
	foliolift_exit(idx);
	KUNIT_EXPECT_NULL(test, engine);
}

/* Each test begins and ends with "cpu", and gives back what was selected. */
static char foliolift_kunit_was[FOLIOLIFT_NAME_LEN];

static int foliolift_kunit_init(struct kunit *test)
{
	mutex_lock(&foliolift_lock);
	strscpy(foliolift_kunit_was,
		foliolift_auto_on() ? "auto" : foliolift_selected->name);
	mutex_unlock(&foliolift_lock);
	return foliolift_select_engine("cpu");
}

static void foliolift_kunit_exit(struct kunit *test)
{
	foliolift_select_engine(foliolift_kunit_was);
}

static struct kunit_case foliolift_engine_cases[] = {
	KUNIT_CASE(foliolift_kunit_refuses_bad),
	KUNIT_CASE(foliolift_kunit_refuses_second),
	KUNIT_CASE(foliolift_kunit_selects),
	{},
};

static struct kunit_suite foliolift_engine_suite = {
	.name = "foliolift-engine",
	.init = foliolift_kunit_init,
	.exit = foliolift_kunit_exit,
	.test_cases = foliolift_engine_cases,
};

kunit_test_suite(foliolift_engine_suite);

#endif /* CONFIG_FOLIOLIFT_KUNIT_TEST */
