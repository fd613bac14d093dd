/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/sysfs.h>. */
#ifndef _NATIVE_LINUX_SYSFS_H
#define _NATIVE_LINUX_SYSFS_H

#include <linux/types.h>

struct attribute {
	const char *name;
	umode_t mode;
};

struct kobject;

struct attribute_group {
	const char *name;
	struct attribute **attrs;
	umode_t (*is_visible)(struct kobject *kobj, struct attribute *attr,
			      int nr);
};

#define sysfs_attr_init(attr)

#define __ATTR(_name, _mode, _show, _store) {				\
	.attr = { .name = #_name, .mode = (_mode) },			\
	.show = (_show), .store = (_store),				\
}

#define __ATTR_RO(_name)	__ATTR(_name, 0444, _name##_show, NULL)
#define __ATTR_WO(_name)	__ATTR(_name, 0200, NULL, _name##_store)
#define __ATTR_RW(_name)	__ATTR(_name, 0644, _name##_show, _name##_store)

#define ATTRIBUTE_GROUPS(_name)						\
	static const struct attribute_group _name##_group = {		\
		.attrs = _name##_attrs,					\
	};								\
	static const struct attribute_group *_name##_groups[] = {	\
		&_name##_group, NULL,					\
	}

int sysfs_emit(char *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int sysfs_emit_at(char *buf, int at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The size is that of the array, as where the kernel's has two arguments. */
#define strscpy(to, from)	snprintf(to, sizeof(to), "%s", from)

bool sysfs_streq(const char *a, const char *b);

#endif /* _NATIVE_LINUX_SYSFS_H */
