/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP for guest programs. A program is
 *
 *	static void test(void) { ok(1 + 1 == 2, "arithmetic"); }
 *	int main(void) { return tap_main("arithmetic", 30, test); }
 *
 * test() runs in a child of its own process group. A child that hangs or dies is a failed test, told with
 * where its threads hang; so no wait in a test has to be bounded on its own account. After test(), two
 * checks that belong to every test: the kernel's log has no report since it began, and no page is left
 * isolated.
 *
 * FL_SLOW=N (a slow kernel) multiplies the time allowed, FL_LONG=1 rounds() by 10, FL_SEED=N repeats a run.
 */
#ifndef FL_TAP_H
#define FL_TAP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* so a test includes a header of this directory first */
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int tap_count, tap_failed;
static const char *tap_name = "?";
static jmp_buf tap_leave;
static uint64_t tap_seed;

/* ----- lines ----- */

static inline void tap_line(const char *head, const char *fmt, va_list ap)
{
	char text[512];
	char *p;

	vsnprintf(text, sizeof(text), fmt, ap);
	for (p = text; *p; p++)
		if (*p == '\n' || *p == '#')
			*p = ' ';
	printf("%s%s\n", head, text);
	fflush(stdout);
}

__attribute__((format(printf, 1, 2))) static inline void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_line("# ", fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static inline int ok(int good, const char *fmt, ...)
{
	char head[40];
	va_list ap;

	tap_failed += !good;
	snprintf(head, sizeof(head), "%sok %d - ", good ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	tap_line(head, fmt, ap);
	va_end(ap);
	return good;
}

/* got == want, and both are told if not. */
__attribute__((format(printf, 3, 4))) static inline int is(long long got, long long want,
							   const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!ok(got == want, "%s", text))
		diag("got %lld, want %lld", got, want);
	return got == want;
}

/* A test point that cannot be had here, and why. */
__attribute__((format(printf, 2, 3))) static inline void skip(const char *what, const char *why,
							      ...)
{
	char text[300];
	va_list ap;

	va_start(ap, why);
	vsnprintf(text, sizeof(text), why, ap);
	va_end(ap);
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, text);
	fflush(stdout);
}

/* Nothing more can be tested: a failure. From the thread that runs test() only. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void fatal(const char *fmt, ...)
{
	char text[400];
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ok(0, "%s", text);
	diag("errno was %d (%s); the rest of this test is left out", err, strerror(err));
	longjmp(tap_leave, 1);
}

/* ----- rounds, seeds ----- */

static inline unsigned long env_number(const char *name, unsigned long missing)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : missing;
}

static inline unsigned int rounds(unsigned int n)
{
	return env_number("FL_LONG", 0) ? n * 10 : n;
}

static inline unsigned long slowness(void)
{
	unsigned long n = env_number("FL_SLOW", 1);

	return n ? n : 1;
}

/* splitmix64 */
static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline uint64_t rnd(void)
{
	static uint64_t state;

	return mix(tap_seed + ++state);
}

/* ----- the kernel's log ----- */

static int tap_kmsg = -1;

static inline int tap_is_report(const char *s)
{
	static const char *const bad[] = {
		"BUG:",
		"BUG ",
		"kernel BUG",
		"WARNING: ",
		"Oops",
		"Kernel panic",
		"general protection",
		"KASAN",
		"KFENCE",
		"UBSAN",
		"INFO: task",
		"INFO: rcu",
		"rcu: INFO",
		"INFO: possible",
		"INFO: suspicious",
		"INFO: trying",
		"INFO: inconsistent",
		"suspicious RCU",
		"possible circular",
		"possible recursive",
		"possible irq",
		"sleeping function",
		"scheduling while atomic",
		"soft lockup",
		"refcount_t: ",
		"list_add corruption",
		"list_del corruption",
		"Bad page state",
		"Bad rss-counter",
		"ODEBUG:",
		"unable to handle",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (strstr(s, bad[i]))
			return 1;
	return 0;
}

static inline void tap_log_begin(const char *mode)
{
	char mark[200];
	int fd, n;

	tap_kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tap_kmsg >= 0)
		lseek(tap_kmsg, 0, SEEK_END);
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = snprintf(mark, sizeof(mark), "<6>foliolift-test: %s (%s) seed %" PRIu64 "\n", tap_name,
		     mode, tap_seed);
	if (write(fd, mark, n) < 0)
		diag("no mark in the kernel's log");
	close(fd);
}

static inline void tap_log_end(void)
{
	char record[8192];
	int reports = 0, told = 0;
	ssize_t n;

	if (tap_kmsg < 0) {
		ok(0, "the kernel's log can be read");
		return;
	}
	while ((n = read(tap_kmsg, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		char *text;

		if (n < 0) /* overwritten before it was read: go on behind */
			continue;
		record[n] = 0;
		text = strchr(record, ';');
		text = text ? text + 1 : record;
		text[strcspn(text, "\n")] = 0;
		reports += tap_is_report(text);
		if (reports && told++ < 40)
			diag("kernel: %s", text);
	}
	ok(!reports, "the kernel's log has no report");
}

/* ----- isolated pages ----- */

static inline long tap_isolated(void)
{
	char line[128];
	long n = 0, v;
	FILE *f;
	int fd;

	/* have the per-CPU differences folded in */
	fd = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "1", 1) < 0)
			n = 0;
		close(fd);
	}
	f = fopen("/proc/vmstat", "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "nr_isolated_anon %ld", &v) == 1 ||
		    sscanf(line, "nr_isolated_file %ld", &v) == 1)
			n += v;
	fclose(f);
	return n;
}

/* A folio that a migration left behind stays isolated for ever. */
static inline void tap_isolated_end(void)
{
	long n = 0;
	int i;

	for (i = 0; i < 50; i++) {
		n = tap_isolated();
		if (!n)
			break;
		usleep(100000);
	}
	if (!ok(!n, "no page is left isolated"))
		diag("%ld pages are", n);
}

/* ----- the run ----- */

static inline void tap_tell_file(const char *what, const char *path)
{
	char line[256];
	FILE *f = fopen(path, "re");
	int n = 0;

	if (!f)
		return;
	while (n++ < 20 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		diag("%s: %s", what, line);
	}
	fclose(f);
}

/* Where do the threads of the processes in group @pgid hang? */
static inline void tap_tell_stacks(pid_t pgid)
{
	DIR *proc = opendir("/proc"), *tasks;
	struct dirent *p, *t;
	char path[128];

	while (proc && (p = readdir(proc))) {
		pid_t pid = atoi(p->d_name);

		if (pid <= 0 || getpgid(pid) != pgid)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		tasks = opendir(path);
		while (tasks && (t = readdir(tasks))) {
			pid_t tid = atoi(t->d_name);

			if (tid <= 0)
				continue;
			snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
			tap_tell_file("syscall", path);
			snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", pid, tid);
			tap_tell_file("wchan", path);
			snprintf(path, sizeof(path), "/proc/%d/task/%d/stack", pid, tid);
			tap_tell_file("stack", path);
		}
		if (tasks)
			closedir(tasks);
	}
	if (proc)
		closedir(proc);
}

static inline void tap_child(const char *mode, void (*test)(void))
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	diag("%s, mode %s, seed %" PRIu64, tap_name, mode, tap_seed);
	tap_log_begin(mode);
	if (!setjmp(tap_leave))
		test();
	if (!setjmp(tap_leave)) {
		tap_isolated_end();
		tap_log_end();
	}
	printf("1..%d\n", tap_count);
	fflush(stdout);
	_exit(tap_failed ? 1 : 0);
}

/* Run @test, which may take @seconds on an ordinary kernel. The value is main()'s. */
static inline int tap_main(const char *name, unsigned int seconds, void (*test)(void))
{
	const char *mode = getenv("FL_MODE") ? getenv("FL_MODE") : "unset";
	struct timespec now;
	long long end;
	int status;
	pid_t pid;

	tap_name = name;
	clock_gettime(CLOCK_REALTIME, &now);
	tap_seed = env_number("FL_SEED",
			      (now.tv_sec * 1000000ull + now.tv_nsec / 1000) % 1000000007ull);
	/* so that a test that made a helper which made a helper can be waited for as a whole */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	fflush(stdout);
	pid = fork();
	if (!pid)
		tap_child(mode, test);
	if (pid < 0)
		return 2;
	setpgid(pid, pid);

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + (long long)seconds * slowness();
	while (waitpid(pid, &status, WNOHANG) == 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec < end) {
			usleep(10000);
			continue;
		}
		printf("not ok 9999 - ends within %lu s\n", seconds * slowness());
		tap_tell_stacks(pid);
		kill(-pid, SIGKILL);
		for (end = 0; end < 100 && waitpid(pid, &status, WNOHANG) == 0; end++)
			usleep(100000);
		if (end == 100)
			diag("it cannot even be killed");
		return 2;
	}
	kill(-pid, SIGKILL); /* helpers that outlive it */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (WIFSIGNALED(status)) {
		printf("not ok 9999 - does not die (of signal %d, %s)\n", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
		return 2;
	}
	return WEXITSTATUS(status);
}

#endif
