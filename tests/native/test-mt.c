// SPDX-License-Identifier: GPL-2.0
/*
 * mt.c: whom it asks for help.  The machine is model-machine.c's: node 0 with CPUs 0 to 3,
 * node 1 with 4 to 7, a cache for each two, node 2 with memory only; the caller is on
 * CPU 0, and its folios go from node 0 to node 1.
 */
#include "cmocka-native.h"
#include "model.h"

#include <linux/cgroup.h>
#include <linux/workqueue.h>

#include "mm/foliolift/internal.h"

#define DIR	"foliolift/engines/mt/"

struct task_struct model_task;
extern int (*const model_late_initcall)(void);

/* ----- what mt.c and share.c want of a kernel ----- */

static char workqueue;
static bool runs_at_once;	/* a helper comes before the caller begins */
static unsigned int nr_asked, nr_twice;
static int asked[NR_CPUS];
static struct work_struct *queued[NR_CPUS];
static unsigned long asked_mask;

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags,
					 int max_active)
{
	/* Through the allocator, which knows when to fail. */
	void *p = kmalloc(1, GFP_KERNEL);

	kfree(p);
	return p ? (struct workqueue_struct *)&workqueue : NULL;
}

void destroy_workqueue(struct workqueue_struct *wq)
{
}

static void run_work(int cpu)
{
	struct work_struct *work = queued[cpu];

	queued[cpu] = NULL;
	model_migrate_end();
	work->func(work);
}

bool queue_work_on(int cpu, struct workqueue_struct *wq,
		   struct work_struct *work)
{
	model_check((char *)wq == &workqueue);
	/* As the kernel does it: what is queued is not queued again. */
	nr_twice += !!queued[cpu];
	if (queued[cpu])
		return false;
	queued[cpu] = work;
	asked_mask |= BIT(cpu);
	asked[nr_asked++] = cpu;
	if (runs_at_once)
		run_work(cpu);
	return true;
}

int copy_mc_highpage(struct page *to, struct page *from)
{
	memcpy(to, from, MODEL_PAGE);
	return 0;
}

u64 local_clock(void)
{
	static u64 now;

	return now += 500;
}

/* ----- a batch ----- */

static struct module module;

static int set_file(const char *file, int value)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), DIR "%s", file);
	snprintf(text, sizeof(text), "%d\n", value);
	return model_write(path, text);
}

/* Copies @nr_folios of 128 KB, a chunk each, and forgets who was asked before. */
static void copy_between(int src_nid, int dst_nid, unsigned int nr_folios)
{
	struct foliolift_segment segments[32];
	struct foliolift_batch batch = {
		.segments = segments, .nr_segments = nr_folios,
		.nr_pages = nr_folios * 32,
	};
	unsigned int i;

	for (i = 0; i < nr_folios; i++) {
		segments[i] = (struct foliolift_segment) {
			.src = model_folio(5, 1000 + i),
			.dst = model_folio(5, i),
			.nr_pages = 32, .status = FOLIOLIFT_PENDING,
		};
		segments[i].src->nid = src_nid;
		segments[i].dst->nid = dst_nid;
	}
	nr_asked = nr_twice = 0;
	asked_mask = 0;
	model_migrate_begin();
	assert_int_equal(static_call(foliolift_copy)(&batch), 0);
	model_migrate_end();
	for (i = 0; i < nr_folios; i++) {
		assert_int_equal(segments[i].status, 0);
		assert_true(model_folio_same(segments[i].dst, segments[i].src));
		model_folio_free(segments[i].src);
		model_folio_free(segments[i].dst);
	}
}

static void come_late(void)
{
	int cpu;

	for (cpu = 0; cpu < NR_CPUS; cpu++)
		if (queued[cpu])
			run_work(cpu);
}

/* The helpers come when all is over, and give back what they hold. */
static unsigned long who_is_asked(int src_nid, int dst_nid)
{
	copy_between(src_nid, dst_nid, 32);
	come_late();
	return asked_mask;
}

/* ----- whom it asks ----- */

static void test_push_and_pull(void **state)
{
	assert_int_equal(who_is_asked(0, 1), 0xf0);
	assert_int_equal(who_is_asked(1, 0), 0x0e);
	set_file("pull", 0);
	assert_int_equal(who_is_asked(0, 1), 0x0e);
	assert_int_equal(who_is_asked(1, 0), 0xf0);
	/* A node without CPUs: the nearest that has some. */
	assert_int_equal(who_is_asked(2, 1), 0x0e);
}

static void test_idle_cpus_of_the_node_only(void **state)
{
	model_machine.idle = 0x5f;
	assert_int_equal(who_is_asked(0, 1), 0x50);
	/* Nobody: it is the CPU engine then. */
	model_machine.idle = 0x0f;
	assert_int_equal(who_is_asked(0, 1), 0);
}

static void test_isolated_cpus_are_left_alone(void **state)
{
	model_machine.isolated = 0xa0;
	assert_int_equal(who_is_asked(0, 1), 0x50);
	assert_false(foliolift_mt_may_help(5));
	assert_true(foliolift_mt_may_help(4));
}

static void test_cpuset_is_kept_to(void **state)
{
	model_machine.allowed.bits = 0x2f;
	assert_int_equal(who_is_asked(0, 1), 0x20);
	/* The kernel's threads have none. */
	model_task.flags = PF_KTHREAD;
	assert_int_equal(who_is_asked(0, 1), 0xf0);
}

static void test_offline_cpus_are_not_asked(void **state)
{
	model_machine.online.bits = 0xdf;
	assert_int_equal(who_is_asked(0, 1), 0xd0);
	model_task.flags = PF_KTHREAD;
	assert_int_equal(who_is_asked(0, 1), 0xd0);
}

static void check_order(int threads, int dst_nid, unsigned int nr,
			const int *order)
{
	set_file("threads", threads);
	who_is_asked(0, dst_nid);
	assert_int_equal(nr_asked, nr);
	assert_memory_equal(asked, order, nr * sizeof(*order));
}

/* The caller's cache is one that has its CPU already. */
static void test_a_cpu_of_each_cache_first(void **state)
{
	static const int elsewhere[] = { 4, 6, 5, 7 };
	static const int here[] = { 2, 1, 3 };

	check_order(2, 1, 1, elsewhere);
	check_order(3, 1, 2, elsewhere);
	check_order(4, 1, 3, elsewhere);
	check_order(32, 1, 4, elsewhere);
	check_order(2, 0, 1, here);
	check_order(4, 0, 3, here);
}

static void test_slot_is_asked_once(void **state)
{
	set_file("threads", 3);
	copy_between(0, 1, 32);
	assert_int_equal(asked_mask, 0x50);
	/* These two have not come yet, so the others are asked. */
	copy_between(0, 1, 32);
	assert_int_equal(nr_twice, 0);
	assert_int_equal(asked_mask, 0xa0);
	copy_between(0, 1, 32);
	assert_int_equal(asked_mask, 0);
	/* One comes, and can be asked again. */
	run_work(6);
	copy_between(0, 1, 32);
	assert_int_equal(asked_mask, 0x40);
	come_late();
}

/* As many as there are chunks, whatever was asked for. */
static void test_small_batches(void **state)
{
	copy_between(0, 1, 1);
	assert_int_equal(nr_asked, 0);
	copy_between(0, 1, 3);
	assert_int_equal(nr_asked, 2);
	come_late();
	set_file("threads", 1);
	copy_between(0, 1, 32);
	assert_int_equal(nr_asked, 0);
	/* As the policy says, if no person does. */
	set_file("threads", 0);
	copy_between(0, 1, 32);
	assert_int_equal(nr_asked, 3);
	come_late();
}

static void test_no_memory(void **state)
{
	int fault;

	for (fault = 1; fault <= 2; fault++) {
		model.fault_in = fault;
		copy_between(0, 1, 32);
		assert_int_equal(nr_asked, 0);
	}
	model.fault_in = 0;
}

/* ----- whose time it is ----- */

static void test_helpers_time_is_the_callers(void **state)
{
	struct cgroup root = { 0 }, group = { .parent = &root };
	u64 before = foliolift_mt_busy_ns();

	runs_at_once = true;
	set_file("threads", 2);
	model_task.cgroup = &group;
	copy_between(0, 1, 32);
	/* Thirty-two chunks of 500 nanoseconds. */
	assert_int_equal(group.cputime, 16000);
	assert_int_equal(group.system, 16000);
	assert_int_equal(foliolift_mt_busy_ns() - before, 16000);
	/* What the root has used is what the CPUs did, and counted already. */
	model_task.cgroup = &root;
	copy_between(0, 1, 32);
	assert_int_equal(root.cputime, 0);
	assert_int_equal(root.system, 0);
	assert_int_equal(foliolift_mt_busy_ns() - before, 32000);
}

/* ----- its files ----- */

static void test_files(void **state)
{
	static const char *const bad[] = { "33", "-1", "", "x", "4 4", "4294967297" };
	char buf[PAGE_SIZE];
	unsigned int i;

	assert_true(model_write(DIR "threads", "32") > 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(model_write(DIR "threads", bad[i]) < 0);
	model_read(DIR "threads", buf);
	assert_string_equal(buf, "32\n");
	assert_true(model_write(DIR "pull", "2") < 0);
	model_read(DIR "pull", buf);
	assert_string_equal(buf, "1\n");
	assert_true(model_write(DIR "helper_us", "0") < 0);
	/* Every CPU of a node beside the caller: five of six widths are too wide. */
	assert_true(model_read(DIR "speed/4", buf) > 0);
	assert_int_equal(model_read(DIR "speed/8", buf), -ENOENT);
}

/* Has to be the first test: the last of its attempts succeeds. */
static void test_failed_init_leaves_nothing(void **state)
{
	struct foliolift_engine other = {
		.name = "other", .role = FOLIOLIFT_ROLE_MT,
		.copy = foliolift_cpu_copy, .owner = &module,
	};
	long nr_allocs = model.nr_allocs;
	int fault;

	foliolift_register_engine(&other);
	assert_int_equal(model_late_initcall(), -EBUSY);
	foliolift_unregister_engine(&other);
	for (fault = 1; ; fault++) {
		model.fault_in = fault;
		if (!model_late_initcall())
			break;
		assert_int_equal(model.nr_allocs, nr_allocs);
	}
	model.fault_in = 0;
	assert_in_range(fault, 3, 10);
}

static struct model_machine machine;

static int group_setup(void **state)
{
	machine = model_machine;
	return model_start(state) || model_initcall();
}

static int setup(void **state)
{
	static struct cgroup root;

	model_machine = machine;
	model_task = (struct task_struct) { .cgroup = &root };
	runs_at_once = false;
	set_file("threads", 32);
	set_file("pull", 1);
	return foliolift_select_engine("mt");
}

/* What is not given back by then LeakSanitizer tells at the end. */
static int teardown(void **state)
{
	model_hush(true);
	come_late();
	model_hush(false);
	return 0;
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failed_init_leaves_nothing),
		TEST(test_push_and_pull),
		TEST(test_idle_cpus_of_the_node_only),
		TEST(test_isolated_cpus_are_left_alone),
		TEST(test_cpuset_is_kept_to),
		TEST(test_offline_cpus_are_not_asked),
		TEST(test_a_cpu_of_each_cache_first),
		TEST(test_slot_is_asked_once),
		TEST(test_small_batches),
		TEST(test_no_memory),
		TEST(test_helpers_time_is_the_callers),
		TEST(test_files),
	};

	return run_group("mt", tests, group_setup, NULL);
}
