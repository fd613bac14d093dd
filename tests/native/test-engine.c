// SPDX-License-Identifier: GPL-2.0
/* engine.c: who may register, who is selected, who is pinned, who is let in. */
#include "cmocka-native.h"
#include "model.h"

#include <sched.h>

#include "mm/foliolift/internal.h"
#include "mm/foliolift/overwrite.h"

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

#define assert_chosen(name) \
	assert_string_equal(show(foliolift_show_selected), name "\n")
#define assert_selected(name) \
	assert_string_equal(show(foliolift_show_active), name "\n")
#define assert_available(names) \
	assert_string_equal(show(foliolift_show_available), names " auto\n")

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
	foliolift_set_enabled(false);
	model.clock_ns = 0;
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
		"mt!", "a.b", "\x01", "caf\xe9", "\xff", "auto",
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
	a.copy = copy_a;
	a.max_width = 2;
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

/* ----- the policy in charge, and a person ----- */

static unsigned int width_a;

static void set_width_a(unsigned int width)
{
	width_a = width;
}

/* Batches come until the policy is asked, and it says this. */
static void choose(enum foliolift_role role, unsigned int width,
		   unsigned long min_pages)
{
	unsigned int nr_steps = model.nr_steps, i;

	model.choice = (struct foliolift_choice){ role, width, min_pages };
	model.changes = true;
	for (i = 0; i < 3 && model.nr_steps == nr_steps; i++) {
		this_cpu_inc(foliolift_stats.batches[0]);
		foliolift_sampler_wake(0, 1);
		assert_true(model_run_delayed_work());
	}
}

ENGINE_TEST(test_policy_chooses)
{
	a.max_width = 8;
	a.set_width = set_width_a;
	a.min_pages = 3;
	foliolift_register_engine(&a);
	assert_int_equal(width_a, 4);
	foliolift_select_engine("auto\n");
	assert_chosen("auto");
	assert_selected("cpu");

	choose(FOLIOLIFT_ROLE_MT, 2, 32);
	assert_chosen("auto");
	assert_selected("a");
	assert_int_equal(width_a, 2);
	assert_int_equal(module.refs, 1);
	assert_string_equal(enter(32), "a");
	assert_string_equal(enter(31), "none");

	/* Only wider, nobody is waited for; and no wider than it can. */
	model.nr_synchronized = 0;
	choose(FOLIOLIFT_ROLE_MT, 32, 0);
	assert_int_equal(width_a, 8);
	assert_string_equal(enter(3), "a");
	assert_string_equal(enter(2), "none");
	choose(FOLIOLIFT_ROLE_MT, 0, ULONG_MAX);
	assert_int_equal(width_a, 1);
	assert_string_equal(enter(ULONG_MAX - 1), "a");
	assert_int_equal(model.nr_synchronized, 0);

	/* Of an engine that is not there, or whose module goes: nothing. */
	choose(FOLIOLIFT_ROLE_DMA, 1, 1);
	assert_selected("a");
	foliolift_register_engine(&b);
	module.going = true;
	choose(FOLIOLIFT_ROLE_DMA, 1, 1);
	assert_selected("a");
	assert_string_equal(enter(1), "none");
	foliolift_unregister_engine(&a);
	assert_chosen("auto");
	assert_string_equal(enter(2), "cpu");
}

ENGINE_TEST(test_a_person_relieves_the_policy)
{
	unsigned long nr_switches = foliolift_get_switches();
	unsigned int nr_cancelled;

	a.min_pages = 3;
	foliolift_register_engine(&a);
	foliolift_select_engine("auto");
	choose(FOLIOLIFT_ROLE_MT, 1, 100);
	/* The engine stays what it is, but not what the policy reckoned. */
	nr_cancelled = model.nr_cancelled;
	assert_int_equal(foliolift_select_engine("a"), 0);
	assert_int_equal(model.nr_cancelled, nr_cancelled + 1);
	assert_chosen("a");
	assert_string_equal(enter(3), "a");
	/* A choice that was on its way. */
	choose(FOLIOLIFT_ROLE_CPU, 1, 1);
	assert_selected("a");
	assert_string_equal(enter(2), "none");
	assert_int_equal(foliolift_get_switches(), nr_switches + 1);
	/* A name that is none changes nothing. */
	foliolift_select_engine("auto");
	assert_int_equal(foliolift_select_engine("aut"), -ENODEV);
	assert_chosen("auto");
}

ENGINE_TEST(test_sampler_runs_while_it_is_wanted)
{
	unsigned int nr_kicked = model.nr_kicked;

	foliolift_select_engine("auto");
	foliolift_register_engine(&a);
	assert_int_equal(model.nr_kicked, nr_kicked);
	assert_false(static_key_enabled(&foliolift_was_on_key));
	foliolift_set_enabled(true);
	assert_true(static_key_enabled(&foliolift_was_on_key));
	assert_int_equal(model.nr_kicked, nr_kicked + 1);
	foliolift_set_enabled(true);
	assert_int_equal(model.nr_kicked, nr_kicked + 1);
	/* A new engine wants to be measured. */
	foliolift_register_engine(&b);
	assert_int_equal(model.nr_kicked, nr_kicked + 2);

	/* As long as batches come it goes on; then it waits for one. */
	choose(FOLIOLIFT_ROLE_CPU, 1, 2);
	model.changes = false;
	this_cpu_inc(foliolift_stats.batches[0]);
	assert_true(model_run_delayed_work());
	assert_false(foliolift_sampler_asleep);
	assert_true(model_run_delayed_work());
	assert_true(foliolift_sampler_asleep);
	assert_false(model_run_delayed_work());

	foliolift_select_engine("cpu");
	assert_false(foliolift_sampler_asleep);
	foliolift_unregister_engine(&b);
	foliolift_register_engine(&b);
	assert_false(model_run_delayed_work());
	/* A sample that ends after the policy was relieved. */
	foliolift_sampler_wake(0, 1);
	assert_true(model_run_delayed_work());
	assert_false(foliolift_sampler_asleep);
	assert_int_equal(model.nr_kicked, nr_kicked + 2);

	foliolift_select_engine("auto");
	assert_int_equal(model.nr_kicked, nr_kicked + 3);
	foliolift_set_enabled(false);
	foliolift_select_engine("auto");
	assert_int_equal(model.nr_kicked, nr_kicked + 3);
	assert_true(static_key_enabled(&foliolift_was_on_key));
}

/* An engine that takes a microsecond, and two nanoseconds for each page and width. */
static unsigned int nr_measured;

static int copy_timed(const struct foliolift_batch *batch)
{
	unsigned int i;

	nr_measured++;
	model.clock_ns += 1000 + 2 * batch->nr_pages * width_a;
	for (i = 0; i < batch->nr_segments; i++)
		batch->segments[i].status = 0;
	return 0;
}

ENGINE_TEST(test_engines_are_measured_once)
{
	long nr_allocs;
	unsigned int fault;

	a.copy = copy_timed;
	a.max_width = 8;
	a.set_width = set_width_a;
	model.clock_ns = 1000000;
	foliolift_register_engine(&a);
	assert_int_equal(foliolift_calibrate(true), 0);
	assert_int_equal(foliolift_get_speed(a.role, 0).page_ps, 2000);
	assert_int_equal(foliolift_get_speed(a.role, 0).start_ns, 1000);
	assert_int_equal(foliolift_get_speed(a.role, 3).page_ps, 16000);
	assert_int_equal(foliolift_get_speed(a.role, 4).page_ps, 0);
	/* As wide as it was told to be, whatever was tried. */
	assert_int_equal(width_a, 4);
	nr_measured = 0;
	assert_int_equal(foliolift_calibrate(false), 0);
	assert_int_equal(nr_measured, 0);

	/* Another engine of that role is another engine. */
	foliolift_unregister_engine(&a);
	assert_int_equal(foliolift_get_speed(a.role, 3).page_ps, 0);
	foliolift_register_engine(&a);
	assert_int_equal(foliolift_calibrate(false), 0);
	assert_true(nr_measured);

	/* One that declines, or there is no memory to measure with. */
	foliolift_register_engine(&b);
	assert_int_equal(foliolift_calibrate(false), -EAGAIN);
	assert_int_equal(foliolift_get_speed(b.role, 0).page_ps, 0);
	assert_int_not_equal(foliolift_get_speed(a.role, 0).page_ps, 0);
	foliolift_unregister_engine(&b);
	nr_allocs = model.nr_allocs;
	for (fault = 1; fault <= 129; fault += 16) {
		model.fault_in = fault;
		assert_int_equal(foliolift_calibrate(true), -EAGAIN);
		assert_int_equal(model.nr_allocs, nr_allocs);
		assert_int_equal(width_a, 4);
	}
}

/* What the policy is told of the time between two samples. */
ENGINE_TEST(test_load)
{
	unsigned long *dma = foliolift_stats.engine[FOLIOLIFT_ROLE_DMA];
	int cpu;

	a.role = FOLIOLIFT_ROLE_DMA;
	a.max_width = 2;
	a.set_width = set_width_a;
	model.clock_ns = 1000000;
	foliolift_register_engine(&a);
	foliolift_select_engine("auto");
	foliolift_calibrate(false);
	foliolift_sampler_wake(0, 1);
	choose(FOLIOLIFT_ROLE_DMA, 1, 2);

	/* Of a hundred microseconds: node 1 has two idle CPUs and a half. */
	model.clock_ns += 100000;
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		model_machine.idle_us[cpu] += cpu < 4 ? 100 : 0;
	model_machine.idle_us[4] += 100;
	model_machine.iowait_us[5] += 100;
	model_machine.idle_us[6] += 50;
	this_cpu_add(foliolift_stats.pages[3], 77);
	this_cpu_add(foliolift_stats.batches[3], 7);
	this_cpu_add(dma[FOLIOLIFT_STAT_BATCHES], 10);
	this_cpu_add(dma[FOLIOLIFT_STAT_DECLINED], 3);
	this_cpu_add(dma[FOLIOLIFT_STAT_PAGES], 500);
	this_cpu_add(dma[FOLIOLIFT_STAT_NS], 12345);
	this_cpu_add(foliolift_stats.engine[FOLIOLIFT_ROLE_CPU]
					   [FOLIOLIFT_STAT_PAGES], 1);
	choose(FOLIOLIFT_ROLE_CPU, 1, 2);
	assert_int_equal(model.load.batches[0], 1);
	assert_int_equal(model.load.batches[3], 7);
	assert_int_equal(model.load.pages[3], 77);
	assert_int_equal(model.load.idle_16ths, 40);
	assert_int_equal(model.load.dma_declined, 3);
	assert_int_equal(model.load.copied_batches, 7);
	assert_int_equal(model.load.copied_pages, 500);
	assert_int_equal(model.load.copied_ns, 12345);

	/* From another node's clocks nothing is made up. */
	foliolift_sampler_wake(1, 0);
	model.clock_ns += 100000;
	this_cpu_inc(foliolift_stats.batches[0]);
	model_run_delayed_work();
	assert_int_equal(model.load.idle_16ths, 0);
	assert_int_equal(model.load.pages[3], 0);
	assert_int_equal(model.load.copied_pages, 0);
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

/* Has to be the first test. */
ENGINE_TEST(test_off_by_default)
{
	assert_chosen("auto");
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
	foliolift_set_enabled(false);
	foliolift_select_engine("cpu");
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
		TEST(test_sampler_runs_while_it_is_wanted),
		TEST(test_policy_chooses),
		TEST(test_a_person_relieves_the_policy),
		TEST(test_engines_are_measured_once),
		TEST(test_load),
		TEST(test_enabled),
	};

	return run_group("engine", tests, group_setup, NULL);
}
