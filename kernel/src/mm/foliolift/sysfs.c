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

static ssize_t available_engines_show(struct kobject *kobj,
				      struct kobj_attribute *attr, char *buf)
{
	return foliolift_show_available(buf);
}

static struct kobj_attribute available_engines_attr =
	__ATTR_RO(available_engines);

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
	&available_engines_attr.attr,
	&batch_bytes_attr.attr,
	&batch_folios_attr.attr,
	NULL,
};

static const struct attribute_group foliolift_group = {
	.attrs = foliolift_attrs,
};

/* ----- counters ----- */

/* Sum over the CPUs of the counter at @offset of struct foliolift_stats. */
static unsigned long foliolift_sum(size_t offset)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(unsigned long *)
				 ((void *)per_cpu_ptr(&foliolift_stats, cpu) +
				  offset));
	return sum;
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
FOLIOLIFT_STAT(poisoned, poisoned);

static struct attribute *foliolift_stat_attrs[] = {
	&stat_fallback_refs.attr.attr,
	&stat_fallback_callback.attr.attr,
	&stat_fallback_failed.attr.attr,
	&stat_fallback_declined.attr.attr,
	&stat_fallback_nomem.attr.attr,
	&stat_poisoned.attr.attr,
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
};

static struct foliolift_engine_dir *foliolift_engine_dirs[FOLIOLIFT_NR_ROLES];

static ssize_t foliolift_engine_stat(struct kobject *kobj,
				     enum foliolift_engine_stat stat, char *buf)
{
	struct foliolift_engine_dir *dir =
		container_of(kobj, struct foliolift_engine_dir, kobj);

	return sysfs_emit(buf, "%lu\n",
			  foliolift_sum(offsetof(struct foliolift_stats, engine) +
					sizeof(unsigned long) *
					(dir->role * FOLIOLIFT_NR_ENGINE_STATS +
					 stat)));
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

static struct attribute *foliolift_engine_attrs[] = {
	&batches_attr.attr,
	&folios_attr.attr,
	&pages_attr.attr,
	&failed_folios_attr.attr,
	&declined_batches_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(foliolift_engine);

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
	err = kobject_init_and_add(&dir->kobj, &foliolift_engine_ktype,
				   foliolift_engines_kobj, "%s", engine->name);
	if (err) {
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
