// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: an engine that fails on demand
 *
 * Copies as the CPU engine does, but for what it is told to do wrong through files
 * in /sys/kernel/debug/foliolift_test.  For tests only: it can make a migration
 * fail, a healthy folio look poisoned, and write to a program's memory through a
 * pin as a device would.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/foliolift.h>
#include <linux/highmem.h>
#include <linux/kprobes.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/workqueue.h>

/* ----- what it is told; each file one value ----- */

static s64 fail_segment = -1;
static u32 fail_every;
static u32 fail_errno = EIO;
static s64 pending_segment = -1;
static bool decline;
static u32 delay_us;
static bool async;

static atomic64_t calls, max_segments, max_pages;

static void test_raise(atomic64_t *max, s64 value)
{
	s64 old = atomic64_read(max);

	while (value > old && !atomic64_try_cmpxchg(max, &old, value))
		;
}

/* ----- poison: one folio whose contents nobody can read ----- */

static struct folio *poisoned_folio;
static atomic64_t poison_reads;

static notrace noinline int test_read_poison(void)
{
	return -EHWPOISON;
}

/*
 * A call of folio_mc_copy(), or of foliolift_copy_part() where several CPUs copy, from
 * the poisoned folio goes to the function above in its
 * place.  No kretprobe: a copy may sleep, and would return through a trampoline whose
 * probe is gone if the module is removed meanwhile.
 */
static int test_copy_entry(struct kprobe *kp, struct pt_regs *regs)
{
	struct folio *src = (void *)regs_get_kernel_argument(regs, 1);

	if (src != READ_ONCE(poisoned_folio))
		return 0;
	atomic64_inc(&poison_reads);
	instruction_pointer_set(regs, (unsigned long)test_read_poison);
	return 1;
}

/* A probe with one is not turned into a jump, which could not go elsewhere. */
static void test_copy_post(struct kprobe *kp, struct pt_regs *regs,
			   unsigned long flags)
{
}

/* With them every engine, and the kernel without any, meets the poison. */
static struct kprobe test_copy_probe = {
	.symbol_name = "folio_mc_copy",
	.flags = KPROBE_FLAG_DISABLED,
	.pre_handler = test_copy_entry,
	.post_handler = test_copy_post,
};

static struct kprobe test_part_probe = {
	.symbol_name = "foliolift_copy_part",
	.flags = KPROBE_FLAG_DISABLED,
	.pre_handler = test_copy_entry,
	.post_handler = test_copy_post,
};

static struct kprobe *test_probes[] = { &test_copy_probe, &test_part_probe };

/*
 * ----- a pin: a reference that is written through -----
 *
 * As ptrace has one: a plain reference.  An anonymous folio that is pinned in the sense
 * of FOLL_PIN would not even be unmapped.
 */

static DEFINE_MUTEX(pin_lock);
static struct page *pinned_page;
static u64 pin_value;
static bool pin_done;

/* Write through the pin and let go of it, in the middle of a migration. */
static void test_use_pin(void)
{
	u64 *data;

	mutex_lock(&pin_lock);
	if (pinned_page) {
		data = kmap_local_page(pinned_page);
		WRITE_ONCE(*data, pin_value);
		kunmap_local(data);
		/* Without its lock, which this very migration holds. */
		set_page_dirty(pinned_page);
		put_page(pinned_page);
		pinned_page = NULL;
		pin_done = true;
	}
	mutex_unlock(&pin_lock);
}

/*
 * ----- a file whose folios migrate by a callback that copies half of them -----
 *
 * No filesystem in the kernel does so.  But only the common copy is known to write a
 * destination whole, so whatever a callback leaves out must have been zeroed.
 */

static int test_half_migrate(struct address_space *mapping, struct folio *dst,
			     struct folio *src, enum migrate_mode mode)
{
	int err = folio_migrate_mapping(mapping, dst, src, 0);

	if (err != MIGRATEPAGE_SUCCESS)
		return err;
	memcpy(folio_address(dst), folio_address(src), folio_size(src) / 2);
	folio_migrate_flags(dst, src);
	return MIGRATEPAGE_SUCCESS;
}

static struct file *half_file;
static const struct address_space_operations *half_real_aops;
static struct address_space_operations half_aops;

static void test_half_undo(void)
{
	if (half_file) {
		half_file->f_mapping->a_ops = half_real_aops;
		fput(half_file);
		half_file = NULL;
	}
}

/* "FD": the file becomes such one until another takes its place or the module goes. */
static int test_half_set(void *data, u64 fd)
{
	struct file *file = fget(fd);

	if (!file)
		return -EBADF;
	test_half_undo();
	half_file = file;
	half_real_aops = file->f_mapping->a_ops;
	half_aops = *half_real_aops;
	half_aops.migrate_folio = test_half_migrate;
	file->f_mapping->a_ops = &half_aops;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_half_fops, NULL, test_half_set, "%llu\n");

/* ----- the engine ----- */

static bool test_fails(unsigned int index)
{
	u32 every = READ_ONCE(fail_every);

	return index == READ_ONCE(fail_segment) || (every && index % every == 0);
}

static void test_copy_segments(const struct foliolift_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->nr_segments; i++) {
		struct foliolift_segment *seg = &batch->segments[i];

		if (i == READ_ONCE(pending_segment))
			continue;
		if (test_fails(i))
			/* Never 0 or more, which would vouch for what is not copied. */
			seg->status = -clamp_t(int, READ_ONCE(fail_errno), 1,
					       MAX_ERRNO);
		else
			seg->status = folio_mc_copy(seg->dst, seg->src);
		cond_resched();
	}
}

struct test_work {
	struct work_struct work;
	const struct foliolift_batch *batch;
	struct completion done;
};

static void test_copy_work(struct work_struct *work)
{
	struct test_work *w = container_of(work, struct test_work, work);

	test_copy_segments(w->batch);
	complete(&w->done);
}

static struct workqueue_struct *test_wq;

static int test_copy(const struct foliolift_batch *batch)
{
	atomic64_inc(&calls);
	test_raise(&max_segments, batch->nr_segments);
	test_raise(&max_pages, batch->nr_pages);

	if (READ_ONCE(decline))
		return -EBUSY;

	if (READ_ONCE(async)) {
		struct test_work w = { .batch = batch };

		INIT_WORK_ONSTACK(&w.work, test_copy_work);
		init_completion(&w.done);
		queue_work(test_wq, &w.work);
		wait_for_completion(&w.done);
		/* The worker may still be in complete() on our stack. */
		flush_work(&w.work);
		destroy_work_on_stack(&w.work);
	} else {
		test_copy_segments(batch);
	}

	test_use_pin();
	if (READ_ONCE(delay_us))
		fsleep(READ_ONCE(delay_us));
	return 0;
}

static struct foliolift_engine test_engine = {
	.name = "test",
	.role = FOLIOLIFT_ROLE_TEST,
	.min_pages = 1,
	.owner = THIS_MODULE,
	.copy = test_copy,
};

/* ----- the files in debugfs ----- */

static int test_index_get(void *data, u64 *val)
{
	*val = READ_ONCE(*(s64 *)data);
	return 0;
}

static int test_index_set(void *data, u64 val)
{
	WRITE_ONCE(*(s64 *)data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE_SIGNED(test_index_fops, test_index_get,
				test_index_set, "%lld\n");

static int test_counter_get(void *data, u64 *val)
{
	*val = atomic64_read(data);
	return 0;
}

static int test_counter_reset(void *data, u64 val)
{
	atomic64_set(data, 0);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_counter_fops, test_counter_get,
			 test_counter_reset, "%llu\n");

/* The probe is in place only while something is poisoned. */
static int test_poison_set(void *data, u64 addr)
{
	struct page *page = NULL;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(test_probes); i++) {
		err = addr ? enable_kprobe(test_probes[i]) :
			     disable_kprobe(test_probes[i]);
		if (err)
			return err;
	}
	if (addr) {
		if (get_user_pages_fast(addr, 1, 0, &page) != 1)
			return -EFAULT;
		put_page(page);
	}
	atomic64_set(&poison_reads, 0);
	WRITE_ONCE(poisoned_folio, page ? page_folio(page) : NULL);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_poison_fops, NULL, test_poison_set, "%llu\n");

static int test_pin_set(void *data, u64 addr)
{
	struct page *page = NULL;

	if (addr && get_user_pages_fast(addr, 1, FOLL_WRITE, &page) != 1)
		return -EFAULT;

	mutex_lock(&pin_lock);
	swap(page, pinned_page);
	pin_done = false;
	mutex_unlock(&pin_lock);
	if (page)
		put_page(page);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_pin_fops, NULL, test_pin_set, "%llu\n");

static bool test_registered;
static DEFINE_MUTEX(test_registered_lock);

static int test_registered_get(void *data, u64 *val)
{
	*val = READ_ONCE(test_registered);
	return 0;
}

static int test_registered_set(void *data, u64 val)
{
	int err = 0;

	mutex_lock(&test_registered_lock);
	if (val && !test_registered) {
		err = foliolift_register_engine(&test_engine);
		test_registered = !err;
	} else if (!val && test_registered) {
		foliolift_unregister_engine(&test_engine);
		test_registered = false;
	}
	mutex_unlock(&test_registered_lock);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(test_registered_fops, test_registered_get,
			 test_registered_set, "%llu\n");

static struct dentry *test_dir;

static void test_add_files(void)
{
	struct dentry *dir = debugfs_create_dir("foliolift_test", NULL);

	test_dir = dir;
	debugfs_create_file_unsafe("fail_segment", 0600, dir, &fail_segment,
				   &test_index_fops);
	debugfs_create_file_unsafe("pending_segment", 0600, dir,
				   &pending_segment, &test_index_fops);
	debugfs_create_u32("fail_every", 0600, dir, &fail_every);
	debugfs_create_u32("fail_errno", 0600, dir, &fail_errno);
	debugfs_create_bool("decline", 0600, dir, &decline);
	debugfs_create_u32("delay_us", 0600, dir, &delay_us);
	debugfs_create_bool("async", 0600, dir, &async);
	debugfs_create_file_unsafe("calls", 0600, dir, &calls,
				   &test_counter_fops);
	debugfs_create_file_unsafe("max_segments", 0600, dir, &max_segments,
				   &test_counter_fops);
	debugfs_create_file_unsafe("max_pages", 0600, dir, &max_pages,
				   &test_counter_fops);
	debugfs_create_file_unsafe("poison_addr", 0200, dir, NULL,
				   &test_poison_fops);
	debugfs_create_file_unsafe("poison_reads", 0600, dir, &poison_reads,
				   &test_counter_fops);
	debugfs_create_file_unsafe("pin_addr", 0200, dir, NULL, &test_pin_fops);
	debugfs_create_file_unsafe("half_fd", 0200, dir, NULL, &test_half_fops);
	debugfs_create_x64("pin_value", 0600, dir, &pin_value);
	debugfs_create_bool("pin_done", 0400, dir, &pin_done);
	debugfs_create_file_unsafe("registered", 0600, dir, NULL,
				   &test_registered_fops);
}

static int __init test_engine_init(void)
{
	int err;

	test_wq = alloc_workqueue("foliolift_test", WQ_UNBOUND | WQ_MEM_RECLAIM,
				  0);
	if (!test_wq)
		return -ENOMEM;
	err = register_kprobes(test_probes, ARRAY_SIZE(test_probes));
	if (err) {
		pr_err("cannot probe the functions that copy (error %d)\n", err);
		goto out_wq;
	}
	err = test_registered_set(NULL, 1);
	if (err) {
		pr_err("cannot register the engine (error %d); is another of its role there?\n",
		       err);
		goto out_probe;
	}
	test_add_files();
	return 0;

out_probe:
	unregister_kprobes(test_probes, ARRAY_SIZE(test_probes));
out_wq:
	destroy_workqueue(test_wq);
	return err;
}
module_init(test_engine_init);

static void __exit test_engine_exit(void)
{
	debugfs_remove(test_dir);
	test_registered_set(NULL, 0);
	unregister_kprobes(test_probes, ARRAY_SIZE(test_probes));
	test_half_undo();
	test_pin_set(NULL, 0);
	destroy_workqueue(test_wq);
}
module_exit(test_engine_exit);

MODULE_DESCRIPTION("foliolift engine that fails on demand, for tests");
MODULE_LICENSE("GPL");
