// SPDX-License-Identifier: GPL-2.0
/* engine.c: who may register, who is selected, who is pinned, who is let in. */
#include "cmocka-native.h"
#include "model.h"

#include <sched.h>

#include "mm/foliolift/internal.h"

#define NAMES	"foliolift/available_engines"
#define DIR	"foliolift/engines/"

static struct module module;

static int copy_a(const struct foliolift_batch *batch)
{
	return -1;
}

static int copy_b(const struct foliolift_batch *batch)
{
	return -2;
}

static struct foliolift_engine a, b;

static const char *show(ssize_t (*file)(char *buf))
{
	static char buf[PAGE_SIZE];
	ssize_t len = file(buf);

	assert_int_equal(len, strlen(buf));
	return buf;
}

#define assert_selected(name) \
	assert_string_equal(show(foliolift_show_selected), name "\n")
#define assert_available(names) \
	assert_string_equal(show(foliolift_show_available), names "\n")

/* The engine that a batch of @nr_pages comes to, by its copy function too. */
static const char *enter(unsigned long nr_pages)
{
	int idx;
	const struct foliolift_engine *engine = foliolift_enter(nr_pages, &idx);
	const char *name = engine ? engine->name : "none";

	if (engine)
		assert_ptr_equal(&static_call(foliolift_copy), engine->copy);
	foliolift_exit(idx);
	return name;
}

/* Whatever a test left registered goes, and then everything is as it was. */
static void check_end(void)
{
	model.on_synchronize = NULL;
	model.on_patch = NULL;
	model.fault_in = 0;
	foliolift_unregister_engine(&a);
	foliolift_unregister_engine(&b);
	model_settled();
	assert_available("cpu");
	assert_selected("cpu");
	assert_int_equal(module.refs, 0);
	assert_int_equal(model_stray_dirs(), 0);
}

#define ENGINE_TEST(name)						\
	static void name##_body(void);					\
	static void name(void **state)					\
	{								\
		name##_body();						\
		check_end();						\
	}								\
	static void name##_body(void)

/* ----- registration ----- */

ENGINE_TEST(test_bad_engines_are_refused)
{
	static const char *const names[] = {
		NULL, "", "0123456789abcdef", "Engine", "a b", "a/b", "..", "a\n",
		"mt!", "a.b", "\x01", "caf\xe9", "\xff",
	};
	static const int roles[] = {
		FOLIOLIFT_ROLE_CPU, FOLIOLIFT_NR_ROLES, FOLIOLIFT_NR_ROLES + 1,
		-1, INT_MAX, INT_MIN,
	};
	unsigned int i;

	assert_int_equal(foliolift_register_engine(NULL), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		a.name = names[i];
		assert_int_equal(foliolift_register_engine(&a), -EINVAL);
	}
	a.name = "a";
	for (i = 0; i < ARRAY_SIZE(roles); i++) {
		a.role = roles[i];
		assert_int_equal(foliolift_register_engine(&a), -EINVAL);
	}
	a.role = FOLIOLIFT_ROLE_MT;
	a.copy = NULL;
	assert_int_equal(foliolift_register_engine(&a), -EINVAL);
	assert_available("cpu");
	assert_false(model_dir(DIR "a"));
}

ENGINE_TEST(test_good_names_are_taken)
{
	static const char *const names[] = {
		"x", "0", "_", "-", "abcdefghijklmno", "pqrstuvwxyz-_", "0123456789",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		a.name = names[i];
		assert_int_equal(foliolift_register_engine(&a), 0);
		assert_int_equal(foliolift_select_engine(names[i]), 0);
		foliolift_unregister_engine(&a);
	}
}

ENGINE_TEST(test_role_and_name_are_taken_once)
{
	assert_int_equal(foliolift_register_engine(&a), 0);
	assert_int_equal(foliolift_register_engine(&a), -EBUSY);
	b.role = a.role;
	assert_int_equal(foliolift_register_engine(&b), -EBUSY);
	b.role = FOLIOLIFT_ROLE_DMA;
	b.name = "a";
	assert_int_equal(foliolift_register_engine(&b), -EBUSY);
	b.name = "cpu";
	assert_int_equal(foliolift_register_engine(&b), -EBUSY);
	b.name = "b";
	assert_int_equal(foliolift_register_engine(&b), 0);
	assert_available("cpu a b");

	/* Both are free again. */
	foliolift_unregister_engine(&a);
	assert_available("cpu b");
	a.role = FOLIOLIFT_ROLE_TEST;
	assert_int_equal(foliolift_register_engine(&a), 0);
	assert_available("cpu b a");
}

/* Whatever of it fails: no name, no directory, no memory, and it can come again. */
ENGINE_TEST(test_failed_registration_leaves_nothing)
{
	long nr_allocs = model.nr_allocs, nr_kobjects = model.nr_kobjects;
	int fault;

	for (fault = 1; ; fault++) {
		model.fault_in = fault;
		model.faulted = false;
		if (!foliolift_register_engine(&a))
			break;
		assert_true(model.faulted);
		assert_int_equal(model.nr_allocs, nr_allocs);
		assert_int_equal(model.nr_kobjects, nr_kobjects);
		assert_available("cpu");
		assert_false(model_dir(DIR "a"));
		assert_int_equal(foliolift_select_engine("a"), -ENODEV);
		foliolift_unregister_engine(&a);
	}
	model.fault_in = 0;
	assert_in_range(fault, 3, 10);
	assert_true(model_dir(DIR "a"));
	foliolift_unregister_engine(&a);
	assert_int_equal(model.nr_allocs, nr_allocs);
	assert_int_equal(model.nr_kobjects, nr_kobjects);
}

ENGINE_TEST(test_unregister_of_another_is_nothing)
{
	unsigned int role;

	assert_int_equal(foliolift_register_engine(&a), 0);
	assert_int_equal(foliolift_select_engine("a"), 0);
	/* The same role and name, but not the one that is registered. */
	b = a;
	foliolift_unregister_engine(&b);
	for (role = 0; role <= FOLIOLIFT_NR_ROLES; role++) {
		b.role = role;
		foliolift_unregister_engine(&b);
	}
	b.role = -1;
	foliolift_unregister_engine(&b);
	assert_available("cpu a");
	assert_selected("a");
	assert_int_equal(module.refs, 1);
	foliolift_unregister_engine(&a);
	foliolift_unregister_engine(&a);
	assert_available("cpu");
}

/* ----- selection ----- */

ENGINE_TEST(test_select_unknown)
{
	static const char *const names[] = {
		"", "\n", "a", "cp", "cpu2", "cpu\n\n", " cpu", "CPU", "cpu ",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(foliolift_select_engine(names[i]), -ENODEV);
	assert_selected("cpu");
	assert_int_equal(foliolift_select_engine("cpu"), 0);
	assert_int_equal(foliolift_select_engine("cpu\n"), 0);
}

ENGINE_TEST(test_select_pins_the_module)
{
	foliolift_register_engine(&a);
	foliolift_register_engine(&b);
	assert_selected("cpu");
	assert_int_equal(module.refs, 0);
	assert_int_equal(foliolift_select_engine("a\n"), 0);
	assert_selected("a");
	assert_int_equal(module.refs, 1);
	assert_int_equal(foliolift_select_engine("a"), 0);
	assert_int_equal(module.refs, 1);

	/* From one of the module's engines to the other: never unpinned. */
	assert_int_equal(foliolift_select_engine("b"), 0);
	assert_selected("b");
	assert_int_equal(module.refs, 1);
	assert_int_equal(foliolift_select_engine("cpu"), 0);
	assert_selected("cpu");
	assert_int_equal(module.refs, 0);
}

ENGINE_TEST(test_engine_without_a_module)
{
	a.owner = NULL;
	foliolift_register_engine(&a);
	assert_int_equal(foliolift_select_engine("a"), 0);
	assert_selected("a");
	foliolift_unregister_engine(&a);
	assert_selected("cpu");
}

ENGINE_TEST(test_select_of_a_module_that_goes)
{
	foliolift_register_engine(&a);
	module.going = true;
	assert_int_equal(foliolift_select_engine("a"), -ENODEV);
	assert_selected("cpu");
	assert_int_equal(module.refs, 0);
	assert_string_equal(enter(8), "cpu");
}

ENGINE_TEST(test_unregister_of_the_selected)
{
	foliolift_register_engine(&a);
	foliolift_register_engine(&b);
	foliolift_select_engine("a");
	foliolift_unregister_engine(&a);
	assert_selected("cpu");
	assert_available("cpu b");
	assert_int_equal(module.refs, 0);
	assert_string_equal(enter(8), "cpu");
	assert_false(model_dir(DIR "a"));

	/* Of one that is not: nothing else changes, and nobody is waited for. */
	foliolift_register_engine(&a);
	foliolift_select_engine("a");
	model.nr_synchronized = 0;
	foliolift_unregister_engine(&b);
	assert_selected("a");
	assert_int_equal(module.refs, 1);
	assert_int_equal(model.nr_synchronized, 0);
}

/* ----- the door ----- */

ENGINE_TEST(test_door_is_as_high_as_the_engine_says)
{
	static const unsigned int min_pages[] = { 0, 1, 2, 512, UINT_MAX };
	unsigned int i;

	assert_string_equal(enter(1), "none");
	assert_string_equal(enter(2), "cpu");
	for (i = 0; i < ARRAY_SIZE(min_pages); i++) {
		unsigned long min = min_pages[i] ? min_pages[i] : 1;

		a.min_pages = min_pages[i];
		foliolift_register_engine(&a);
		foliolift_select_engine("a");
		assert_string_equal(enter(min), "a");
		assert_string_equal(enter(min - 1), "none");
		foliolift_unregister_engine(&a);
		assert_string_equal(enter(1), "none");
		assert_string_equal(enter(2), "cpu");
	}
}

/* Hooks run inside the kernel code: they tell, and do not jump out of it. */
static void nobody_enters(void)
{
	int idx;

	model_check(!foliolift_enter(1UL << 40, &idx));
	foliolift_exit(idx);
}

static void nobody_enters_pinned(void)
{
	nobody_enters();
	/* The old engine's code may still be wanted. */
	model_check(module.refs == 1);
}

ENGINE_TEST(test_nobody_enters_while_engines_change)
{
	foliolift_register_engine(&a);
	model.nr_synchronized = 0;
	model.nr_patched = 0;
	model.on_synchronize = nobody_enters;
	model.on_patch = nobody_enters;
	foliolift_select_engine("a");
	assert_string_equal(enter(8), "a");
	/* One that stays what it is waits for nobody. */
	foliolift_select_engine("a");
	assert_int_equal(model.nr_synchronized, 1);
	assert_int_equal(model.nr_patched, 1);

	model.on_synchronize = nobody_enters_pinned;
	model.on_patch = nobody_enters_pinned;
	foliolift_select_engine("cpu");
	assert_string_equal(enter(8), "cpu");
	assert_int_equal(model.nr_synchronized, 2);
	assert_int_equal(model.nr_patched, 2);
}

/* A batch that is in the engine when it is unregistered. */
static int inside;	/* 1: in the engine, 2: may leave, 3: left */
static int unregistered;

static void *batch_thread(void *arg)
{
	int idx;

	if (!foliolift_enter(8, &idx))
		model_fail("could not enter");
	WRITE_ONCE(inside, 1);
	while (READ_ONCE(inside) == 1)
		sched_yield();
	if (READ_ONCE(unregistered))
		model_fail("the engine went while a batch was in it");
	WRITE_ONCE(inside, 3);
	foliolift_exit(idx);
	return NULL;
}

static void *unregister_thread(void *arg)
{
	foliolift_unregister_engine(&a);
	WRITE_ONCE(unregistered, 1);
	if (READ_ONCE(inside) != 3)
		model_fail("did not wait for the batch in the engine");
	return NULL;
}

ENGINE_TEST(test_unregister_waits_for_the_batch_inside)
{
	pthread_t batch, unregister;
	int i, idx, nr_entered = 0, nr_unpinned = 0, nr_patched = 0;

	inside = unregistered = 0;
	foliolift_register_engine(&a);
	foliolift_select_engine("a");
	model.nr_synchronized = 0;
	model.nr_patched = 0;
	pthread_create(&batch, NULL, batch_thread, NULL);
	while (READ_ONCE(inside) != 1)
		sched_yield();
	pthread_create(&unregister, NULL, unregister_thread, NULL);
	while (!READ_ONCE(model.nr_synchronized) && !READ_ONCE(unregistered))
		sched_yield();
	/* It waits now; others pass by meanwhile, and do not wait. */
	for (i = 0; i < 100; i++) {
		nr_entered += !!foliolift_enter(8, &idx);
		foliolift_exit(idx);
		nr_unpinned += READ_ONCE(module.refs) != 1;
		nr_patched += READ_ONCE(model.nr_patched) != 0;
		sched_yield();
	}
	WRITE_ONCE(inside, 2);
	pthread_join(batch, NULL);
	pthread_join(unregister, NULL);
	assert_int_equal(nr_entered, 0);
	assert_int_equal(nr_unpinned, 0);
	assert_int_equal(nr_patched, 0);
	assert_string_equal(enter(8), "cpu");
}

/* ----- the key ----- */

ENGINE_TEST(test_enabled)
{
	foliolift_set_enabled(true);
	assert_true(static_key_enabled(&foliolift_key));
	foliolift_set_enabled(true);
	foliolift_set_enabled(false);
	assert_false(static_key_enabled(&foliolift_key));
}

ENGINE_TEST(test_off_by_default)
{
	assert_false(static_key_enabled(&foliolift_key));
	assert_selected("cpu");
	assert_available("cpu");
	assert_string_equal(enter(512), "cpu");
}

static int group_setup(void **state)
{
	return model_start(state) || model_initcall();
}

static int setup(void **state)
{
	a = (struct foliolift_engine){
		.name = "a", .role = FOLIOLIFT_ROLE_MT, .owner = &module,
		.copy = copy_a,
	};
	b = (struct foliolift_engine){
		.name = "b", .role = FOLIOLIFT_ROLE_DMA, .owner = &module,
		.copy = copy_b,
	};
	memset(&module, 0, sizeof(module));
	return 0;
}

/* After a test that failed somewhere, so that the next one is none the worse. */
static int teardown(void **state)
{
	model_hush(true);
	foliolift_unregister_engine(&a);
	foliolift_unregister_engine(&b);
	model_hush(false);
	return 0;
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_off_by_default),
		TEST(test_bad_engines_are_refused),
		TEST(test_good_names_are_taken),
		TEST(test_role_and_name_are_taken_once),
		TEST(test_failed_registration_leaves_nothing),
		TEST(test_unregister_of_another_is_nothing),
		TEST(test_select_unknown),
		TEST(test_select_pins_the_module),
		TEST(test_engine_without_a_module),
		TEST(test_select_of_a_module_that_goes),
		TEST(test_unregister_of_the_selected),
		TEST(test_door_is_as_high_as_the_engine_says),
		TEST(test_nobody_enters_while_engines_change),
		TEST(test_unregister_waits_for_the_batch_inside),
		TEST(test_enabled),
	};

	return run_group("engine", tests, group_setup, NULL);
}
