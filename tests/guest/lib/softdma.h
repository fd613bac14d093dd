/* SPDX-License-Identifier: GPL-2.0 */
/* Modules that are not loaded by the guest's init, and the DMA engine in software (softdma). */
#ifndef FL_SOFTDMA_H
#define FL_SOFTDMA_H

#include "sys.h"

#define SOFT "/sys/kernel/debug/softdma/"
#define SOFT_DRIVER "/sys/bus/platform/drivers/softdma/"

/* 0 or the errno of the attempt to load. */
static inline int module_load(const char *name, const char *parameters)
{
	char path[96];
	int fd, err;

	snprintf(path, sizeof(path), "/lib/modules/foliolift/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	close(fd);
	return err;
}

/* rmmod: 0 or errno */
static inline int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

static inline int softdma_load(const char *parameters)
{
	int err = module_load("virt-dma", "");

	return err && err != EEXIST ? err : module_load("softdma", parameters);
}

static inline int softdma_unload(void)
{
	return module_unload("softdma");
}

#define softdma_put(file, fmt, ...) put(SOFT file, fmt, ##__VA_ARGS__)
#define softdma_get(file) get(SOFT file)

/* Every knob and counter back to what it is after loading. */
static inline void softdma_reset(void)
{
	static const char *const zero[] = { "bandwidth",  "latency_us",	 "refuse_nth", "hang_nth",
					    "lost_nth",	  "error_nth",	 "late_us",    "bytes",
					    "refused",	  "hangs",	 "lost",       "errors",
					    "terminated", "descriptors" };
	size_t i;

	for (i = 0; i < sizeof(zero) / sizeof(*zero); i++) {
		char path[96];

		snprintf(path, sizeof(path), SOFT "%s", zero[i]);
		put(path, "0");
	}
	softdma_put("channel_mask", "0xffffffff");
}

static inline int softdma_bind(int bound)
{
	return write_file(bound ? SOFT_DRIVER "bind" : SOFT_DRIVER "unbind", "softdma");
}

/* How many channels of DMA engines there are. */
static inline int dma_channels(void)
{
	DIR *dir = opendir("/sys/class/dma");
	struct dirent *d;
	int n = 0;

	while (dir && (d = readdir(dir)))
		n += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

#endif
