/* SPDX-License-Identifier: GPL-2.0 */
/* A loop device over a file in memory, with a file system on it if wanted. */
#ifndef FL_DISK_H
#define FL_DISK_H

#include "mem.h"

#include <linux/loop.h>

struct disk {
	int number;
	int fd; /* of the loop device */
	int backing; /* of the file in memory */
	char device[32];
	char dir[64]; /* where it is mounted; empty: it is not */
};

static inline void disk_new(struct disk *d, size_t size)
{
	struct loop_config config = { .block_size = 4096 };
	int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	memset(d, 0, sizeof(*d));
	if (ctl < 0)
		fatal("there are loop devices");
	d->backing = memfd_create("disk", MFD_CLOEXEC);
	if (d->backing < 0 || ftruncate(d->backing, size))
		fatal("a memfd can be had");
	d->number = ioctl(ctl, LOOP_CTL_GET_FREE);
	close(ctl);
	if (d->number < 0)
		fatal("a loop device is free");
	snprintf(d->device, sizeof(d->device), "/dev/loop%d", d->number);
	d->fd = open(d->device, O_RDWR | O_CLOEXEC);
	config.fd = d->backing;
	if (d->fd < 0 || ioctl(d->fd, LOOP_CONFIGURE, &config))
		fatal("%s can be attached", d->device);
	/* a device that somebody may write cannot be mounted */
	close(d->fd);
	d->fd = open(d->device, O_RDONLY | O_CLOEXEC);
}

static inline void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void run(const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (system(line))
		fatal("'%s' works", line);
}

/* Does the kernel have this type? */
static inline int file_system(const char *type)
{
	char line[64], name[32];
	int found = 0;
	FILE *f = fopen("/proc/filesystems", "re");

	while (f && fgets(line, sizeof(line), f))
		found |= sscanf(line, " %31s", name) == 1 && !strcmp(name, type);
	if (f)
		fclose(f);
	return found;
}

static inline void disk_mount(struct disk *d, const char *type)
{
	if (mount(d->device, d->dir, type, 0, NULL))
		fatal("%s can be mounted as %s", d->device, type);
}

/* @type "ext4" or "vfat" */
static inline void disk_format(struct disk *d, const char *type)
{
	if (!strcmp(type, "ext4"))
		run("mke2fs -b 4096 %s >/dev/null 2>&1", d->device);
	else
		run("mkdosfs %s >/dev/null 2>&1", d->device);
	snprintf(d->dir, sizeof(d->dir), "/mnt/%s.%d", type, d->number);
	mkdir(d->dir, 0700);
	disk_mount(d, type);
}

static inline void disk_end(struct disk *d)
{
	if (d->dir[0] && umount2(d->dir, 0))
		fatal("%s can be unmounted", d->dir);
	ioctl(d->fd, LOOP_CLR_FD);
	close(d->fd);
	close(d->backing);
}

#endif
