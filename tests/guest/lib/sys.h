/* SPDX-License-Identifier: GPL-2.0 */
/* Files of one value, counters of the kernel, and foliolift's knobs. */
#ifndef FL_SYS_H
#define FL_SYS_H

#include "tap.h"

#include <ctype.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LIFT "/sys/kernel/mm/foliolift/"
#define TESTER "/sys/kernel/debug/foliolift_test/"
#define TESTER_MODULE "foliolift_test_engine"

/* ----- files ----- */

static inline int exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* 0 or the errno of the attempt to write. */
static inline int write_file(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd, err = 0;
	ssize_t n;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)len)
		err = n < 0 ? errno : EIO;
	close(fd);
	return err;
}

/* The first line of @path without its newline; empty if it cannot be read. */
static inline const char *read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return buf;
}

static inline void put(const char *path, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void put(const char *path, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int err;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err = write_file(path, text);
	if (err) {
		errno = err;
		fatal("'%s' can be written to %s", text, path);
	}
}

static inline long long get(const char *path)
{
	char buf[64];

	if (!*read_file(path, buf, sizeof(buf)))
		fatal("%s can be read", path);
	return strtoll(buf, NULL, 0);
}

/* The value in brackets or the whole line: "always [madvise] never" */
static inline int choice_is(const char *path, const char *want)
{
	char buf[256], bracket[64];

	read_file(path, buf, sizeof(buf));
	snprintf(bracket, sizeof(bracket), "[%s]", want);
	return strstr(buf, bracket) || !strcmp(buf, want);
}

/* ----- counters of the kernel ----- */

static inline long long vmstat(const char *name)
{
	char line[128];
	size_t len = strlen(name);
	long long v = -1;
	FILE *f = fopen("/proc/vmstat", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ' ')
			v = strtoll(line + len, NULL, 10);
	if (f)
		fclose(f);
	return v;
}

/* The counters that a migration moves. */
struct migration_counts {
	long long success, fail, thp_success, thp_fail, thp_split;
};

static inline struct migration_counts migration_counts(void)
{
	struct migration_counts c = {
		.success = vmstat("pgmigrate_success"),
		.fail = vmstat("pgmigrate_fail"),
		.thp_success = vmstat("thp_migration_success"),
		.thp_fail = vmstat("thp_migration_fail"),
		.thp_split = vmstat("thp_migration_split"),
	};
	return c;
}

static inline struct migration_counts migration_since(struct migration_counts then)
{
	struct migration_counts c = migration_counts();

	c.success -= then.success;
	c.fail -= then.fail;
	c.thp_success -= then.thp_success;
	c.thp_fail -= then.thp_fail;
	c.thp_split -= then.thp_split;
	return c;
}

/* KB of @field ("MemFree") of a node's meminfo */
static inline long long node_kb(int node, const char *field)
{
	char path[64], line[128], key[64];
	long long v = -1, kb;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Node %*d %60[^:]: %lld", key, &kb) == 2 && !strcmp(key, field))
			v = kb;
	if (f)
		fclose(f);
	return v;
}

/* ----- foliolift ----- */

/*
 * How the runner wants this run: "stock" (a kernel without foliolift), "off", the name of an engine, or "own":
 * the test switches by itself; "bounce" is the same where every DMA is bounced.
 */
static inline const char *lift_mode(void)
{
	const char *mode = getenv("FL_MODE");

	if (mode && *mode)
		return mode;
	return exists(LIFT "enabled") ? "off" : "stock";
}

/* The engine that copies at present; NULL if none does. lift_set() changes it. */
static const char *lift_now;

static inline const char *lift_engine(void)
{
	return lift_now;
}

static inline int lift_present(void)
{
	return exists(LIFT "enabled");
}

static inline int tester_loaded(void)
{
	return exists(TESTER "calls");
}

/* insmod "NAME PARAMETER..."; 0 or errno; 0 too if it is loaded already */
static inline int insmod(const char *module)
{
	const char *parameters = module + strcspn(module, " ");
	char path[96];
	int fd, err;

	snprintf(path, sizeof(path), "/lib/modules/foliolift/%.*s.ko", (int)(parameters - module),
		 module);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST ? errno : 0;
	close(fd);
	return err;
}

static inline void tester_load(void)
{
	if (tester_loaded())
		return;
	errno = insmod(TESTER_MODULE);
	if (errno)
		fatal("the test engine's module can be loaded");
}

/* rmmod: 0 or errno */
static inline int tester_unload(void)
{
	return syscall(SYS_delete_module, TESTER_MODULE, O_NONBLOCK) ? errno : 0;
}

/* Every control of the test engine back to what it is after loading. */
static inline void tester_reset(void)
{
	static const char *const zero[] = { "fail_every", "decline", "delay_us", "poison_addr",
					    "pin_addr" };
	size_t i;

	put(TESTER "registered", "1");
	put(TESTER "fail_segment", "-1");
	put(TESTER "pending_segment", "-1");
	put(TESTER "fail_errno", "5");
	for (i = 0; i < sizeof(zero) / sizeof(*zero); i++) {
		char path[96];

		snprintf(path, sizeof(path), TESTER "%s", zero[i]);
		put(path, "0");
	}
	put(TESTER "calls", "0");
}

#define tester_put(control, fmt, ...) put(TESTER control, fmt, ##__VA_ARGS__)
#define tester_get(control) get(TESTER control)

/*
 * The engines that are modes, one line each: the fewest pages that come to it in a batch, its modules in the order in
 * which they are loaded, and how it is set up.
 */
static const struct lift_engine {
	const char *name;
	unsigned int min_pages;
	const char *modules[4];
	struct {
		const char *file, *value;
	} knobs[2];
} lift_engines[] = {
	{ .name = "cpu", .min_pages = 2 },
	{ .name = "mt", .min_pages = 33, .knobs = { { LIFT "engines/mt/threads", "4" } } },
	{ .name = "dma",
	  .min_pages = 32,
	  .modules = { "virt-dma", "softdma channels=8", "foliolift_dma" } },
	{ "test", 1, { TESTER_MODULE }, { { TESTER "async", "1" } } },
};

static inline const struct lift_engine *lift_find(const char *name)
{
	size_t i;

	for (i = 0; name && i < sizeof(lift_engines) / sizeof(*lift_engines); i++)
		if (!strcmp(lift_engines[i].name, name))
			return &lift_engines[i];
	return NULL;
}

/* Does the engine of the mode copy a batch of so many pages? */
static inline int lift_takes(unsigned long pages)
{
	const struct lift_engine *engine = lift_find(lift_engine());

	return engine && pages >= engine->min_pages;
}

/* Switch to @engine; NULL: off. All else is what the kernel begins with, but for the policy, which has no say. */
static inline void lift_set(const char *engine)
{
	const struct lift_engine *e = lift_find(engine);
	size_t i;

	if (!lift_present()) {
		if (engine)
			fatal("this kernel has foliolift");
		return;
	}
	lift_now = engine;
	put(LIFT "enabled", "0");
	put(LIFT "batch_bytes", "8M");
	put(LIFT "batch_folios", "512");
	put(LIFT "engine", "cpu");
	if (exists(LIFT "engines/mt")) {
		put(LIFT "engines/mt/threads", "0");
		put(LIFT "engines/mt/pull", "1");
	}
	if (tester_loaded())
		tester_reset();
	if (!engine)
		return;
	for (i = 0; e && i < 4 && e->modules[i]; i++) {
		errno = insmod(e->modules[i]);
		if (errno)
			fatal("the module %s can be loaded", e->modules[i]);
	}
	if (!strcmp(engine, "test"))
		tester_reset();
	for (i = 0; e && i < 2 && e->knobs[i].file; i++)
		put(e->knobs[i].file, "%s", e->knobs[i].value);
	put(LIFT "engine", "%s", engine);
	put(LIFT "enabled", "1");
}

/* Engines of modules that this mode is not about go, so that a test sees the same whatever ran before it. */
static inline void lift_unload_others(const char *mode)
{
	size_t e, i;

	lift_set(NULL);
	for (e = 0; e < sizeof(lift_engines) / sizeof(*lift_engines); e++)
		for (i = 4; i-- && strcmp(lift_engines[e].name, mode);) {
			char name[32] = "";

			if (lift_engines[e].modules[i])
				sscanf(lift_engines[e].modules[i], "%31[^ ]", name);
			if (*name && strcmp(name, TESTER_MODULE))
				syscall(SYS_delete_module, name, O_NONBLOCK);
		}
}

/* What every test begins with: nothing else migrates, and the mode is the runner's. */
static inline void lift_begin(void)
{
	const char *mode = lift_mode();

	if ((strcmp(mode, "stock") != 0) != lift_present()) {
		ok(0, "mode %s suits this kernel", mode);
		longjmp(tap_leave, 1);
	}
	write_file("/proc/sys/kernel/numa_balancing", "0");
	write_file("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0");
	write_file("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "60000");
	/* Compaction in the background would migrate what a test is looking at. */
	write_file("/proc/sys/vm/compaction_proactiveness", "0");
	write_file("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
	write_file("/sys/kernel/mm/transparent_hugepage/defrag", "madvise");
	write_file("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "advise");
	lift_unload_others(mode);
	lift_set(lift_find(mode) ? mode : NULL);
}

/* A counter below stats/ or engines/; 0 where there is none (stock, or the engine is not registered). */
static inline long long lift_count(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline long long lift_count(const char *fmt, ...)
{
	char path[160], buf[64];
	size_t n = strlen(LIFT);
	va_list ap;

	strcpy(path, LIFT);
	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	va_end(ap);
	return strtoll(read_file(path, buf, sizeof(buf)), NULL, 10);
}

struct lift_counts {
	long long batches, folios, pages, failed, declined; /* of the mode's engine, or "cpu" */
	long long refs, callback, fell_failed, fell_declined, nomem, small, reason, poisoned;
};

static inline struct lift_counts lift_counts(void)
{
	const char *engine = lift_engine() ? lift_engine() : "cpu";
	struct lift_counts c = {
		.batches = lift_count("engines/%s/batches", engine),
		.folios = lift_count("engines/%s/folios", engine),
		.pages = lift_count("engines/%s/pages", engine),
		.failed = lift_count("engines/%s/failed_folios", engine),
		.declined = lift_count("engines/%s/declined_batches", engine),
		.refs = lift_count("stats/fallback_refs"),
		.callback = lift_count("stats/fallback_callback"),
		.fell_failed = lift_count("stats/fallback_failed"),
		.fell_declined = lift_count("stats/fallback_declined"),
		.nomem = lift_count("stats/fallback_nomem"),
		.small = lift_count("stats/fallback_small"),
		.reason = lift_count("stats/fallback_reason"),
		.poisoned = lift_count("stats/poisoned"),
	};
	return c;
}

static inline struct lift_counts lift_since(struct lift_counts then)
{
	struct lift_counts c = lift_counts();

	c.batches -= then.batches;
	c.folios -= then.folios;
	c.pages -= then.pages;
	c.failed -= then.failed;
	c.declined -= then.declined;
	c.refs -= then.refs;
	c.callback -= then.callback;
	c.fell_failed -= then.fell_failed;
	c.fell_declined -= then.fell_declined;
	c.nomem -= then.nomem;
	c.small -= then.small;
	c.reason -= then.reason;
	c.poisoned -= then.poisoned;
	return c;
}

static inline void lift_tell(struct lift_counts c)
{
	diag("engine: batches %lld folios %lld pages %lld failed %lld declined %lld; fallback: refs %lld callback %lld"
	     " failed %lld declined %lld nomem %lld small %lld reason %lld; poisoned %lld",
	     c.batches, c.folios, c.pages, c.failed, c.declined, c.refs, c.callback, c.fell_failed,
	     c.fell_declined, c.nomem, c.small, c.reason, c.poisoned);
}

/* ----- CPUs, mounts ----- */

/* The calling thread on @cpu only; quietly nothing if there is no such CPU. */
static inline void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

#endif
