/* SPDX-License-Identifier: GPL-2.0 */
/* Which functions the kernel's workqueues ran, and on which CPUs: by the tracepoint at the beginning of each work. */
#ifndef FL_WORK_H
#define FL_WORK_H

#include "mem.h"

#include <pthread.h>
#include <stdatomic.h>

#define WORK_TRACE "/sys/kernel/tracing/instances/work/"

/* Which of events/workqueue/workqueue_EVENT are traced */
static inline void work_trace(const char *event, int on)
{
	char path[120];

	mkdir(WORK_TRACE, 0700);
	snprintf(path, sizeof(path), WORK_TRACE "events/workqueue/workqueue_%s/enable", event);
	put(path, "%d", on);
}

static inline void work_trace_end(void)
{
	put(WORK_TRACE "events/workqueue/enable", "0");
	rmdir(WORK_TRACE);
}

static inline void work_forget(void)
{
	close(open(WORK_TRACE "trace", O_WRONLY | O_TRUNC));
}

/* Events of works with that function since work_forget(); *@cpus gets a bit for each CPU that had one. */
static inline unsigned int work_events(const char *event, const char *function, unsigned long *cpus)
{
	unsigned int n = 0;
	char line[512], name[64];
	FILE *f = fopen(WORK_TRACE "trace", "re");

	snprintf(name, sizeof(name), ": workqueue_%s: ", event);
	if (cpus)
		*cpus = 0;
	while (f && fgets(line, sizeof(line), f)) {
		char *what = strstr(line, name), *cpu = strchr(line, '[');

		what = what ? strstr(what, "function") : NULL;
		if (*line == '#' || !what || !cpu)
			continue;
		what += strlen("function ");
		if (strncmp(what, function, strlen(function)) || isalnum(what[strlen(function)]) ||
		    what[strlen(function)] == '_')
			continue;
		n++;
		if (cpus)
			*cpus |= 1ul << atoi(cpu + 1);
	}
	if (f)
		fclose(f);
	return n;
}

/* Works that began */
static inline unsigned int work_ran(const char *function, unsigned long *cpus)
{
	return work_events("execute_start", function, cpus);
}

/* ----- CPUs that are kept busy by a thread each ----- */

struct spinner {
	pthread_t thread;
	int cpu;
	atomic_int spins, stop;
};

static inline void *spin(void *arg)
{
	struct spinner *s = arg;

	on_cpu(s->cpu);
	while (!atomic_load(&s->stop))
		atomic_store(&s->spins, 1);
	return NULL;
}

static inline void spin_on(struct spinner *s, int cpu)
{
	memset(s, 0, sizeof(*s));
	s->cpu = cpu;
	if (pthread_create(&s->thread, NULL, spin, s))
		fatal("a thread can be had");
	while (!atomic_load(&s->spins))
		usleep(100);
}

static inline void spin_end(struct spinner *s)
{
	atomic_store(&s->stop, 1);
	pthread_join(s->thread, NULL);
}

/* ----- control groups ----- */

#define CGROUP "/sys/fs/cgroup/"

static inline int cgroup_put(const char *group, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* 0 or errno */
static inline int cgroup_put(const char *group, const char *file, const char *fmt, ...)
{
	char path[128], text[64];
	va_list ap;

	snprintf(path, sizeof(path), CGROUP "%s/%s", group, file);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return write_file(path, text);
}

static inline void cgroup_new(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUP "%s", group);
	if (mkdir(path, 0700) && errno != EEXIST)
		fatal("a cgroup can be made");
}

/* The calling process leaves @group, which goes. */
static inline void cgroup_end(const char *group)
{
	char path[128];
	int i;

	cgroup_put("", "cgroup.procs", "0");
	snprintf(path, sizeof(path), CGROUP "%s", group);
	for (i = 0; i < 100 && rmdir(path) && errno == EBUSY; i++)
		usleep(10000);
}

#endif
