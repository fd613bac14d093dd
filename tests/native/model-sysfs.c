// SPDX-License-Identifier: GPL-2.0
/*
 * Directories and files as sysfs keeps them, and the kernel's parsers of what is
 * written to a file: what they accept, and what they let pass.
 */
#include "model.h"

#include <sched.h>
#include <stdarg.h>

/* ----- the tree ----- */

bool model_fault(void);

static pthread_mutex_t tree_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(tree);
static struct kobject mm_root = { .name = "mm", .refs = 1, .shown = true };

struct kobject *mm_kobj = &mm_root;
const struct sysfs_ops kobj_sysfs_ops;

static int kobject_add_group(struct kobject *kobj,
			     const struct attribute_group *group)
{
	int i;

	for (i = 0; i < MODEL_NR_GROUPS; i++)
		if (!kobj->groups[i]) {
			kobj->groups[i] = group;
			return 0;
		}
	model_fail("more groups than the model has room for");
	return -ENOSPC;
}

static struct kobject *find_child(const struct kobject *parent,
				  const char *name, size_t len)
{
	struct kobject *kobj;

	list_for_each_entry(kobj, &tree, entry)
		if (kobj->parent == parent && strlen(kobj->name) == len &&
		    !memcmp(kobj->name, name, len))
			return kobj;
	return NULL;
}

int kobject_init_and_add(struct kobject *kobj, const struct kobj_type *ktype,
			 struct kobject *parent, const char *fmt, ...)
{
	const struct attribute_group **group;
	va_list ap;
	int err = 0;

	kobj->refs = 1;
	kobj->ktype = ktype;
	__atomic_fetch_add(&model.nr_kobjects, 1, __ATOMIC_RELAXED);
	va_start(ap, fmt);
	vsnprintf(kobj->name, sizeof(kobj->name), fmt, ap);
	va_end(ap);
	if (model_fault())
		return -ENOMEM;

	pthread_mutex_lock(&tree_lock);
	if (find_child(parent, kobj->name, strlen(kobj->name))) {
		err = -EEXIST;
	} else {
		kobj->parent = parent;
		if (parent)
			parent->refs++;
		for (group = ktype->default_groups; group && *group; group++)
			kobject_add_group(kobj, *group);
		list_add_tail(&kobj->entry, &tree);
		kobj->shown = true;
	}
	pthread_mutex_unlock(&tree_lock);
	return err;
}

static void plain_release(struct kobject *kobj)
{
	kfree(kobj);
}

struct kobject *kobject_create_and_add(const char *name,
				       struct kobject *parent)
{
	static const struct kobj_type plain = { .release = plain_release };
	struct kobject *kobj = kzalloc(sizeof(*kobj), GFP_KERNEL);

	if (!kobj)
		return NULL;
	if (kobject_init_and_add(kobj, &plain, parent, "%s", name)) {
		kobject_put(kobj);
		return NULL;
	}
	return kobj;
}

/* Lets go of the lock until nobody is in one of the directory's files. */
static void wait_for_readers(struct kobject *kobj)
{
	while (kobj->readers) {
		pthread_mutex_unlock(&tree_lock);
		sched_yield();
		pthread_mutex_lock(&tree_lock);
	}
}

/* Gone from view; whoever is reading one of its files is waited for. */
void kobject_del(struct kobject *kobj)
{
	struct kobject *parent;

	pthread_mutex_lock(&tree_lock);
	parent = kobj->parent;
	if (kobj->shown)
		list_del(&kobj->entry);
	kobj->shown = false;
	kobj->parent = NULL;
	wait_for_readers(kobj);
	pthread_mutex_unlock(&tree_lock);
	kobject_put(parent);
}

void kobject_put(struct kobject *kobj)
{
	int refs;

	if (!kobj)
		return;
	pthread_mutex_lock(&tree_lock);
	refs = --kobj->refs;
	pthread_mutex_unlock(&tree_lock);
	if (refs < 0)
		model_fail("puts a kobject once too often");
	if (refs)
		return;
	if (kobj->shown)
		kobject_del(kobj);
	__atomic_fetch_sub(&model.nr_kobjects, 1, __ATOMIC_RELAXED);
	kobj->ktype->release(kobj);
}

static void remove_group(struct kobject *kobj,
			 const struct attribute_group *group)
{
	bool found = false;
	int i;

	pthread_mutex_lock(&tree_lock);
	for (i = 0; i < MODEL_NR_GROUPS; i++)
		if (kobj->groups[i] == group) {
			kobj->groups[i] = NULL;
			found = true;
		}
	wait_for_readers(kobj);
	pthread_mutex_unlock(&tree_lock);
	if (!found)
		model_fail("removes a group of files that is not there");
}

int sysfs_create_group(struct kobject *kobj,
		       const struct attribute_group *group)
{
	int err;

	if (model_fault())
		return -ENOMEM;
	pthread_mutex_lock(&tree_lock);
	err = kobject_add_group(kobj, group);
	pthread_mutex_unlock(&tree_lock);
	return err;
}

/* All of them or none. */
int sysfs_create_groups(struct kobject *kobj,
			const struct attribute_group **groups)
{
	const struct attribute_group **group;

	for (group = groups; group && *group; group++) {
		int err = sysfs_create_group(kobj, *group);

		if (!err)
			continue;
		while (group-- > groups)
			remove_group(kobj, *group);
		return err;
	}
	return 0;
}

void sysfs_remove_groups(struct kobject *kobj,
			 const struct attribute_group **groups)
{
	for (; groups && *groups; groups++)
		remove_group(kobj, *groups);
}

/* ----- the tests' way to the files ----- */

/* The directory that @path leads to, and the rest that is no directory. */
static struct kobject *walk(const char **path)
{
	struct kobject *kobj = mm_kobj;

	for (;;) {
		size_t len = strcspn(*path, "/");
		struct kobject *next = find_child(kobj, *path, len);

		if (!next)
			return kobj;
		kobj = next;
		*path += len;
		if (!**path)
			return kobj;
		++*path;
	}
}

static struct kobj_attribute *find_attr(struct kobject *kobj, const char *rest)
{
	const struct attribute_group **group = kobj->groups;
	int i, n;

	for (i = 0; i < MODEL_NR_GROUPS; i++) {
		struct attribute **attr;
		const char *name = rest;

		if (!group[i])
			continue;
		attr = group[i]->attrs;
		if (group[i]->name) {
			size_t len = strlen(group[i]->name);

			if (strncmp(name, group[i]->name, len) || name[len] != '/')
				continue;
			name += len + 1;
		}
		for (n = 0; attr[n]; n++)
			if (!strcmp(attr[n]->name, name) &&
			    (!group[i]->is_visible ||
			     group[i]->is_visible(kobj, attr[n], n)))
				return container_of(attr[n],
						    struct kobj_attribute, attr);
	}
	return NULL;
}

/* Opens a file: its directory will not go away before it is closed. */
static struct kobj_attribute *file_open(const char *path, struct kobject **kobjp)
{
	struct kobj_attribute *attr;

	pthread_mutex_lock(&tree_lock);
	*kobjp = walk(&path);
	attr = find_attr(*kobjp, path);
	if (attr)
		(*kobjp)->readers++;
	pthread_mutex_unlock(&tree_lock);
	return attr;
}

static void file_close(struct kobject *kobj)
{
	pthread_mutex_lock(&tree_lock);
	kobj->readers--;
	pthread_mutex_unlock(&tree_lock);
}

ssize_t model_read(const char *path, char *buf)
{
	struct kobject *kobj;
	struct kobj_attribute *attr = file_open(path, &kobj);
	ssize_t ret;

	if (!attr)
		return -ENOENT;
	ret = attr->show ? attr->show(kobj, attr, buf) : -EIO;
	file_close(kobj);
	return ret;
}

ssize_t model_write(const char *path, const char *text)
{
	struct kobject *kobj;
	struct kobj_attribute *attr = file_open(path, &kobj);
	char *copy;
	ssize_t ret;

	if (!attr)
		return -ENOENT;
	/* On the heap, so that reading past its end is seen. */
	copy = strdup(text);
	ret = attr->store ? attr->store(kobj, attr, copy, strlen(copy)) : -EIO;
	free(copy);
	file_close(kobj);
	return ret;
}

bool model_dir(const char *path)
{
	pthread_mutex_lock(&tree_lock);
	walk(&path);
	pthread_mutex_unlock(&tree_lock);
	return !*path;
}

unsigned int model_stray_dirs(void)
{
	struct kobject *kobj;
	unsigned int n = 0;

	list_for_each_entry(kobj, &tree, entry)
		n += !kobj->parent;
	return n;
}

/* ----- output ----- */

static int emit(char *buf, int at, const char *fmt, va_list ap)
{
	int len = vsnprintf(buf + at, PAGE_SIZE - at, fmt, ap);

	return min(len, (int)PAGE_SIZE - at - 1);
}

int sysfs_emit(char *buf, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = emit(buf, 0, fmt, ap);
	va_end(ap);
	return len;
}

int sysfs_emit_at(char *buf, int at, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = emit(buf, at, fmt, ap);
	va_end(ap);
	return len;
}

/* ----- input ----- */

static size_t without_newline(const char *s)
{
	size_t len = strlen(s);

	return len && s[len - 1] == '\n' ? len - 1 : len;
}

/* Equal, but for a newline at the end of one. */
bool sysfs_streq(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > b_len)
		a_len = without_newline(a);
	else if (b_len > a_len)
		b_len = without_newline(b);
	return a_len == b_len && !memcmp(a, b, a_len);
}

char *skip_spaces(const char *s)
{
	return (char *)s + strspn(s, " \t\n\v\f\r");
}

/* Looks at the first letter only, or at two after an "o". */
int kstrtobool(const char *s, bool *res)
{
	char c = s[0];

	if (c == 'o' || c == 'O')
		c = s[1] == 'n' || s[1] == 'N' ? 'y' :
		    s[1] == 'f' || s[1] == 'F' ? 'n' : '\0';
	if (!c || !strchr("yYtT1nNfF0", c))
		return -EINVAL;
	*res = !!strchr("yYtT1", c);
	return 0;
}

/* Digits in the base that they begin with; false if the value did not fit. */
static bool digits(const char **s, unsigned int base, unsigned long long *res)
{
	static const char hex[] = "0123456789abcdef";
	bool fits = true;
	const char *d;

	if (!base) {
		base = 10;
		if (**s == '0')
			base = ((*s)[1] | 0x20) == 'x' ? 16 : 8;
	}
	if (base == 16 && **s == '0' && ((*s)[1] | 0x20) == 'x')
		*s += 2;
	for (*res = 0; **s; ++*s) {
		int c = **s >= 'A' && **s <= 'F' ? **s | 0x20 : **s;

		d = strchr(hex, c);
		if (!d || d - hex >= base)
			break;
		if (*res > (ULLONG_MAX - (d - hex)) / base)
			fits = false;
		*res = *res * base + (d - hex);
	}
	return fits;
}

int kstrtoull(const char *s, unsigned int base, unsigned long long *res)
{
	const char *begin;
	bool fits;

	if (*s == '+')
		s++;
	if (!isdigit(*s))
		return -EINVAL;
	begin = s;
	fits = digits(&s, base, res);
	/* "0x" has no digits; they are missed here, not before the prefix. */
	if (s == begin || (s == begin + 2 && (begin[1] | 0x20) == 'x'))
		return -EINVAL;
	if (!fits)
		return -ERANGE;
	if (*s == '\n')
		s++;
	return *s ? -EINVAL : 0;
}

int kstrtouint(const char *s, unsigned int base, unsigned int *res)
{
	unsigned long long value;
	int err = kstrtoull(s, base, &value);

	if (err)
		return err;
	if (value > UINT_MAX)
		return -ERANGE;
	*res = value;
	return 0;
}

/* Wraps around without a word, as the kernel's does. */
unsigned long long memparse(const char *s, char **end)
{
	static const char suffixes[] = "KMGTPE";
	unsigned long long value;
	const char *suffix;

	digits(&s, 0, &value);
	suffix = *s ? strchr(suffixes, *s & ~0x20) : NULL;
	if (suffix) {
		int shift;

		for (shift = 0; shift <= suffix - suffixes; shift++)
			value <<= 10;
		s++;
	}
	*end = (char *)s;
	return value;
}
