/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/kobject.h>: a tree of directories, see model-sysfs.c. */
#ifndef _NATIVE_LINUX_KOBJECT_H
#define _NATIVE_LINUX_KOBJECT_H

#include <linux/list.h>
#include <linux/sysfs.h>

#define MODEL_NR_GROUPS	8

struct kobject {
	char name[32];
	struct kobject *parent;
	const struct kobj_type *ktype;
	struct list_head entry;		/* in the tree, while it is shown */
	const struct attribute_group *groups[MODEL_NR_GROUPS];
	int refs;
	int readers;			/* of its files, right now */
	bool shown;
};

struct kobj_attribute {
	struct attribute attr;
	ssize_t (*show)(struct kobject *kobj, struct kobj_attribute *attr,
			char *buf);
	ssize_t (*store)(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count);
};

struct sysfs_ops {
	int unused;
};

struct kobj_type {
	void (*release)(struct kobject *kobj);
	const struct sysfs_ops *sysfs_ops;
	const struct attribute_group **default_groups;
};

extern struct kobject *mm_kobj;
extern const struct sysfs_ops kobj_sysfs_ops;

int kobject_init_and_add(struct kobject *kobj, const struct kobj_type *ktype,
			 struct kobject *parent, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
struct kobject *kobject_create_and_add(const char *name,
				       struct kobject *parent);
void kobject_del(struct kobject *kobj);
void kobject_put(struct kobject *kobj);
int sysfs_create_group(struct kobject *kobj,
		       const struct attribute_group *group);
int sysfs_create_groups(struct kobject *kobj,
			const struct attribute_group **groups);
void sysfs_remove_groups(struct kobject *kobj,
			 const struct attribute_group **groups);

#endif /* _NATIVE_LINUX_KOBJECT_H */
