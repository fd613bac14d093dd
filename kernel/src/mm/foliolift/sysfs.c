// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: knobs and counters below /sys/kernel/mm/foliolift
 *
 * Each file is described in Documentation/ABI/testing/sysfs-kernel-mm-foliolift.
 */
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "deps.h"
#include "internal.h"

/*
 * The largest batch that may be asked for, and the most folios in it: beyond this
 * folios stay unmapped so long that programs notice, and nothing is gained.
 */
#define FOLIOLIFT_MAX_BATCH_BYTES	SZ_256M
#define FOLIOLIFT_MAX_BATCH_FOLIOS	16384

static struct kobject *foliolift_kobj;
static struct kobject *foliolift_engines_kobj;

/* ----- knobs ----- */

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", static_key_enabled(&foliolift_key));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	bool on;
	int err = kstrtobool(buf, &on);

	if (err)
		return err;
	foliolift_set_enabled(on);
	return count;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);

static ssize_t engine_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return foliolift_show_selected(buf);
}

static ssize_t engine_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	return foliolift_select_engine(buf) ?: count;
}

static struct kobj_attribute engine_attr = __ATTR_RW(engine);

static ssize_t active_engine_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *buf)
{
	return foliolift_show_active(buf);
}

static struct kobj_attribute active_engine_attr = __ATTR_RO(active_engine);

static ssize_t available_engines_show(struct kobject *kobj,
				      struct kobj_attribute *attr, char *buf)
{
	return foliolift_show_available(buf);
}

static struct kobj_attribute available_engines_attr =
	__ATTR_RO(available_engines);

static ssize_t calibrate_store(struct kobject *kobj,
			       struct kobj_attribute *attr, const char *buf,
			       size_t count)
{
	bool yes;
	int err = kstrtobool(buf, &yes);

	if (err)
		return err;
	if (!yes)
		return -EINVAL;
	return foliolift_calibrate(true) ?: count;
}

static struct kobj_attribute calibrate_attr = __ATTR_WO(calibrate);

static ssize_t batch_bytes_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lu\n",
			  (unsigned long)READ_ONCE(foliolift_limit.nr_pages)
			  << PAGE_SHIFT);
}

static ssize_t batch_bytes_store(struct kobject *kobj,
				 struct kobj_attribute *attr, const char *buf,
				 size_t count)
{
	unsigned long long bytes;
	char *end;

	bytes = memparse(buf, &end);
	/*
	 * memparse() does not tell of an overflow.  So few characters have none
	 * that would end within the limits: what a large suffix shifts out leaves
	 * 0 or more than a gigabyte.
	 */
	if (end - buf > 12 || *skip_spaces(end) || bytes < PAGE_SIZE ||
	    bytes > FOLIOLIFT_MAX_BATCH_BYTES)
		return -EINVAL;
	WRITE_ONCE(foliolift_limit.nr_pages, bytes >> PAGE_SHIFT);
	return count;
}

static struct kobj_attribute batch_bytes_attr = __ATTR_RW(batch_bytes);

static ssize_t batch_folios_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(foliolift_limit.nr_folios));
}

static ssize_t batch_folios_store(struct kobject *kobj,
				  struct kobj_attribute *attr, const char *buf,
				  size_t count)
{
	unsigned int folios;
	int err = kstrtouint(buf, 10, &folios);

	if (err)
		return err;
	if (!folios || folios > FOLIOLIFT_MAX_BATCH_FOLIOS)
		return -EINVAL;
	WRITE_ONCE(foliolift_limit.nr_folios, folios);
	return count;
}

static struct kobj_attribute batch_folios_attr = __ATTR_RW(batch_folios);

static struct attribute *foliolift_attrs[] = {
	&enabled_attr.attr,
	&engine_attr.attr,
	&active_engine_attr.attr,
	&available_engines_attr.attr,
	&calibrate_attr.attr,
	&batch_bytes_attr.attr,
	&batch_folios_attr.attr,
	NULL,
};

static const struct attribute_group foliolift_group = {
	.attrs = foliolift_attrs,
};

/* ----- reasons: a file for each that folios migrate for ----- */

struct foliolift_reason_attr {
	struct kobj_attribute attr;
	enum migrate_reason reason;
};

static ssize_t foliolift_reason_show(struct kobject *kobj,
				     struct kobj_attribute *attr, char *buf)
{
	struct foliolift_reason_attr *reason =
		container_of(attr, struct foliolift_reason_attr, attr);

	return sysfs_emit(buf, "%d\n",
			  test_bit(reason->reason, &foliolift_reasons));
}

static ssize_t foliolift_reason_store(struct kobject *kobj,
				      struct kobj_attribute *attr,
				      const char *buf, size_t count)
{
	struct foliolift_reason_attr *reason =
		container_of(attr, struct foliolift_reason_attr, attr);
	bool on;
	int err = kstrtobool(buf, &on);

	if (err)
		return err;
	assign_bit(reason->reason, &foliolift_reasons, on);
	return count;
}

#define FOLIOLIFT_REASON(_name, _reason)				\
	static struct foliolift_reason_attr reason_##_name = {		\
		.attr = __ATTR(_name, 0644, foliolift_reason_show,	\
			       foliolift_reason_store),			\
		.reason = _reason,					\
	}

FOLIOLIFT_REASON(compaction, MR_COMPACTION);
FOLIOLIFT_REASON(memory_failure, MR_MEMORY_FAILURE);
FOLIOLIFT_REASON(memory_hotplug, MR_MEMORY_HOTPLUG);
FOLIOLIFT_REASON(syscall, MR_SYSCALL);
FOLIOLIFT_REASON(mempolicy_mbind, MR_MEMPOLICY_MBIND);
FOLIOLIFT_REASON(numa_misplaced, MR_NUMA_MISPLACED);
FOLIOLIFT_REASON(contig_range, MR_CONTIG_RANGE);
FOLIOLIFT_REASON(longterm_pin, MR_LONGTERM_PIN);
FOLIOLIFT_REASON(demotion, MR_DEMOTION);
FOLIOLIFT_REASON(damon, MR_DAMON);

static struct attribute *foliolift_reason_attrs[] = {
	&reason_compaction.attr.attr,
	&reason_memory_failure.attr.attr,
	&reason_memory_hotplug.attr.attr,
	&reason_syscall.attr.attr,
	&reason_mempolicy_mbind.attr.attr,
	&reason_numa_misplaced.attr.attr,
	&reason_contig_range.attr.attr,
	&reason_longterm_pin.attr.attr,
	&reason_demotion.attr.attr,
	&reason_damon.attr.attr,
	NULL,
};

static const struct attribute_group foliolift_reason_group = {
	.name = "reasons",
	.attrs = foliolift_reason_attrs,
};

/* ----- counters ----- */

/**
 * foliolift_sum() - A counter, over all CPUs.
 * @offset:	Where it is in struct foliolift_stats.
 *
 * Return: Its value.
 */
unsigned long foliolift_sum(size_t offset)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(unsigned long *)
				 ((void *)per_cpu_ptr(&foliolift_stats, cpu) +
				  offset));
	return sum;
}

/**
 * foliolift_engine_sum() - A counter of an engine, over all CPUs.
 * @role:	The engine's role.
 * @stat:	Which counter.
 *
 * Return: Its value.
 */
unsigned long foliolift_engine_sum(enum foliolift_role role,
				   enum foliolift_engine_stat stat)
{
	return foliolift_sum(offsetof(struct foliolift_stats, engine) +
			     sizeof(unsigned long) *
			     (role * FOLIOLIFT_NR_ENGINE_STATS + stat));
}

struct foliolift_stat_attr {
	struct kobj_attribute attr;
	size_t offset;
};

static ssize_t foliolift_stat_show(struct kobject *kobj,
				   struct kobj_attribute *attr, char *buf)
{
	struct foliolift_stat_attr *stat =
		container_of(attr, struct foliolift_stat_attr, attr);

	return sysfs_emit(buf, "%lu\n", foliolift_sum(stat->offset));
}

#define FOLIOLIFT_STAT(_name, _member)					\
	static struct foliolift_stat_attr stat_##_name = {		\
		.attr = __ATTR(_name, 0444, foliolift_stat_show, NULL),	\
		.offset = offsetof(struct foliolift_stats, _member),	\
	}

FOLIOLIFT_STAT(fallback_refs, fallback[FOLIOLIFT_FALLBACK_REFS]);
FOLIOLIFT_STAT(fallback_callback, fallback[FOLIOLIFT_FALLBACK_CALLBACK]);
FOLIOLIFT_STAT(fallback_failed, fallback[FOLIOLIFT_FALLBACK_FAILED]);
FOLIOLIFT_STAT(fallback_declined, fallback[FOLIOLIFT_FALLBACK_DECLINED]);
FOLIOLIFT_STAT(fallback_nomem, fallback[FOLIOLIFT_FALLBACK_NOMEM]);
FOLIOLIFT_STAT(fallback_small, fallback[FOLIOLIFT_FALLBACK_SMALL]);
FOLIOLIFT_STAT(fallback_reason, fallback[FOLIOLIFT_FALLBACK_REASON]);
FOLIOLIFT_STAT(poisoned, poisoned);

static ssize_t foliolift_sizes_show(size_t first, char *buf)
{
	unsigned long sum = 0;
	int size;

	for (size = 0; size < FOLIOLIFT_NR_SIZES; size++)
		sum += foliolift_sum(first + size * sizeof(unsigned long));
	return sysfs_emit(buf, "%lu\n", sum);
}

static ssize_t batches_came_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	return foliolift_sizes_show(offsetof(struct foliolift_stats, batches),
				    buf);
}

static struct kobj_attribute batches_came_attr =
	__ATTR(batches, 0444, batches_came_show, NULL);

static ssize_t pages_came_show(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	return foliolift_sizes_show(offsetof(struct foliolift_stats, pages),
				    buf);
}

static struct kobj_attribute pages_came_attr =
	__ATTR(pages, 0444, pages_came_show, NULL);

static ssize_t engine_switches_show(struct kobject *kobj,
				    struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%lu\n", foliolift_get_switches());
}

static struct kobj_attribute engine_switches_attr = __ATTR_RO(engine_switches);

static struct attribute *foliolift_stat_attrs[] = {
	&stat_fallback_refs.attr.attr,
	&stat_fallback_callback.attr.attr,
	&stat_fallback_failed.attr.attr,
	&stat_fallback_declined.attr.attr,
	&stat_fallback_nomem.attr.attr,
	&stat_fallback_small.attr.attr,
	&stat_fallback_reason.attr.attr,
	&stat_poisoned.attr.attr,
	&batches_came_attr.attr,
	&pages_came_attr.attr,
	&engine_switches_attr.attr,
	NULL,
};

static const struct attribute_group foliolift_stat_group = {
	.name = "stats",
	.attrs = foliolift_stat_attrs,
};

/* ----- engines: a directory for each that is registered ----- */

struct foliolift_engine_dir {
	struct kobject kobj;
	enum foliolift_role role;
	unsigned int max_width;
};

static struct foliolift_engine_dir *foliolift_engine_dirs[FOLIOLIFT_NR_ROLES];

static ssize_t foliolift_engine_stat(struct kobject *kobj,
				     enum foliolift_engine_stat stat, char *buf)
{
	struct foliolift_engine_dir *dir =
		container_of(kobj, struct foliolift_engine_dir, kobj);
	unsigned long sum = foliolift_engine_sum(dir->role, stat);

	/* Microseconds are enough for people, and overflow a thousand times later. */
	if (stat == FOLIOLIFT_STAT_NS)
		sum /= NSEC_PER_USEC;
	return sysfs_emit(buf, "%lu\n", sum);
}

#define FOLIOLIFT_ENGINE_STAT(_name, _stat)				\
	static ssize_t _name##_show(struct kobject *kobj,		\
				    struct kobj_attribute *attr,	\
				    char *buf)				\
	{								\
		return foliolift_engine_stat(kobj, _stat, buf);		\
	}								\
	static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

FOLIOLIFT_ENGINE_STAT(batches, FOLIOLIFT_STAT_BATCHES);
FOLIOLIFT_ENGINE_STAT(folios, FOLIOLIFT_STAT_FOLIOS);
FOLIOLIFT_ENGINE_STAT(pages, FOLIOLIFT_STAT_PAGES);
FOLIOLIFT_ENGINE_STAT(failed_folios, FOLIOLIFT_STAT_FAILED);
FOLIOLIFT_ENGINE_STAT(declined_batches, FOLIOLIFT_STAT_DECLINED);
FOLIOLIFT_ENGINE_STAT(copy_us, FOLIOLIFT_STAT_NS);

static struct attribute *foliolift_engine_attrs[] = {
	&batches_attr.attr,
	&folios_attr.attr,
	&pages_attr.attr,
	&failed_folios_attr.attr,
	&declined_batches_attr.attr,
	&copy_us_attr.attr,
	NULL,
};

static const struct attribute_group foliolift_engine_group = {
	.attrs = foliolift_engine_attrs,
};

/* What calibration found, a file for each number of threads or channels. */
struct foliolift_speed_attr {
	struct kobj_attribute attr;
	unsigned int width_log2;
};

/* An engine has files for the widths that it can have. */
static umode_t foliolift_speed_visible(struct kobject *kobj,
				       struct attribute *attr, int n)
{
	struct foliolift_engine_dir *dir =
		container_of(kobj, struct foliolift_engine_dir, kobj);

	return 1U << n <= max(dir->max_width, 1U) ? attr->mode : 0;
}

static struct foliolift_speed foliolift_speed_of(struct kobject *kobj,
						 struct kobj_attribute *attr)
{
	return foliolift_get_speed(container_of(kobj, struct foliolift_engine_dir,
						kobj)->role,
				   container_of(attr, struct foliolift_speed_attr,
						attr)->width_log2);
}

static ssize_t foliolift_speed_show(struct kobject *kobj,
				    struct kobj_attribute *attr, char *buf)
{
	struct foliolift_speed speed = foliolift_speed_of(kobj, attr);

	if (!speed.page_ps)
		return sysfs_emit(buf, "0\n");
	/* Bytes in a microsecond are megabytes in a second. */
	return sysfs_emit(buf, "%llu\n",
			  div_u64((u64)PAGE_SIZE * 1000000, speed.page_ps));
}

static ssize_t foliolift_start_show(struct kobject *kobj,
				    struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", foliolift_speed_of(kobj, attr).start_ns);
}

#define FOLIOLIFT_WIDTH(_width, _log2, _show)				\
	{ __ATTR(_width, 0444, _show, NULL), _log2 }

static struct foliolift_speed_attr foliolift_speed[] = {
	FOLIOLIFT_WIDTH(1, 0, foliolift_speed_show),
	FOLIOLIFT_WIDTH(2, 1, foliolift_speed_show),
	FOLIOLIFT_WIDTH(4, 2, foliolift_speed_show),
	FOLIOLIFT_WIDTH(8, 3, foliolift_speed_show),
	FOLIOLIFT_WIDTH(16, 4, foliolift_speed_show),
	FOLIOLIFT_WIDTH(32, 5, foliolift_speed_show),
};

static struct foliolift_speed_attr foliolift_start[] = {
	FOLIOLIFT_WIDTH(1, 0, foliolift_start_show),
	FOLIOLIFT_WIDTH(2, 1, foliolift_start_show),
	FOLIOLIFT_WIDTH(4, 2, foliolift_start_show),
	FOLIOLIFT_WIDTH(8, 3, foliolift_start_show),
	FOLIOLIFT_WIDTH(16, 4, foliolift_start_show),
	FOLIOLIFT_WIDTH(32, 5, foliolift_start_show),
};

static struct attribute *foliolift_speed_attrs[] = {
	&foliolift_speed[0].attr.attr,
	&foliolift_speed[1].attr.attr,
	&foliolift_speed[2].attr.attr,
	&foliolift_speed[3].attr.attr,
	&foliolift_speed[4].attr.attr,
	&foliolift_speed[5].attr.attr,
	NULL,
};

static struct attribute *foliolift_start_attrs[] = {
	&foliolift_start[0].attr.attr,
	&foliolift_start[1].attr.attr,
	&foliolift_start[2].attr.attr,
	&foliolift_start[3].attr.attr,
	&foliolift_start[4].attr.attr,
	&foliolift_start[5].attr.attr,
	NULL,
};

static const struct attribute_group foliolift_speed_group = {
	.name = "speed",
	.attrs = foliolift_speed_attrs,
	.is_visible = foliolift_speed_visible,
};

static const struct attribute_group foliolift_start_group = {
	.name = "start_ns",
	.attrs = foliolift_start_attrs,
	.is_visible = foliolift_speed_visible,
};

static const struct attribute_group *foliolift_engine_groups[] = {
	&foliolift_engine_group,
	&foliolift_speed_group,
	&foliolift_start_group,
	NULL,
};

static void foliolift_engine_dir_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct foliolift_engine_dir, kobj));
}

static const struct kobj_type foliolift_engine_ktype = {
	.release = foliolift_engine_dir_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = foliolift_engine_groups,
};

/**
 * foliolift_sysfs_add_engine() - Show an engine's counters.
 * @engine:	An engine that is being registered.
 *
 * Context: Process context, with the registration lock held.
 * Return: 0; -ENODEV if there is no directory for it; another negative errno.
 */
int foliolift_sysfs_add_engine(const struct foliolift_engine *engine)
{
	struct foliolift_engine_dir *dir;
	int err;

	/* Without a parent the directory would end up in the root of sysfs. */
	if (!foliolift_engines_kobj)
		return -ENODEV;
	dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	if (!dir)
		return -ENOMEM;
	dir->role = engine->role;
	dir->max_width = engine->max_width;
	err = kobject_init_and_add(&dir->kobj, &foliolift_engine_ktype,
				   foliolift_engines_kobj, "%s", engine->name);
	if (err) {
		kobject_put(&dir->kobj);
		return err;
	}
	err = sysfs_create_groups(&dir->kobj, engine->groups);
	if (err) {
		kobject_del(&dir->kobj);
		kobject_put(&dir->kobj);
		return err;
	}
	foliolift_engine_dirs[engine->role] = dir;
	return 0;
}

/**
 * foliolift_sysfs_remove_engine() - Show an engine's counters no more.
 * @engine:	An engine that is being unregistered.
 *
 * Waits for the readers of the files, none of which takes the registration lock.
 *
 * Context: Process context, with the registration lock held.
 */
void foliolift_sysfs_remove_engine(const struct foliolift_engine *engine)
{
	struct foliolift_engine_dir *dir = foliolift_engine_dirs[engine->role];

	foliolift_engine_dirs[engine->role] = NULL;
	sysfs_remove_groups(&dir->kobj, engine->groups);
	kobject_del(&dir->kobj);
	kobject_put(&dir->kobj);
}

/* Before any driver can register an engine. */
static int __init foliolift_sysfs_init(void)
{
	static const struct foliolift_engine cpu = {
		.name = "cpu",
		.role = FOLIOLIFT_ROLE_CPU,
	};
	int err;

	foliolift_kobj = kobject_create_and_add("foliolift", mm_kobj);
	if (!foliolift_kobj)
		return -ENOMEM;
	err = sysfs_create_group(foliolift_kobj, &foliolift_group);
	if (err)
		goto out;
	err = sysfs_create_group(foliolift_kobj, &foliolift_reason_group);
	if (err)
		goto out;
	err = sysfs_create_group(foliolift_kobj, &foliolift_stat_group);
	if (err)
		goto out;
	foliolift_engines_kobj = kobject_create_and_add("engines",
							foliolift_kobj);
	err = -ENOMEM;
	if (!foliolift_engines_kobj)
		goto out;
	err = foliolift_sysfs_add_engine(&cpu);
	if (err)
		goto out;
	return 0;

out:
	pr_err("foliolift: no files below /sys/kernel/mm/foliolift (error %d); it stays off\n",
	       err);
	kobject_put(foliolift_engines_kobj);
	kobject_put(foliolift_kobj);
	foliolift_engines_kobj = NULL;
	foliolift_kobj = NULL;
	return err;
}
subsys_initcall(foliolift_sysfs_init);
