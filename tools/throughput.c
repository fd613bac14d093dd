// SPDX-License-Identifier: GPL-2.0
/*
 * throughput: how fast move_pages(2) moves pages from one node to another, with everything checked.
 *
 *   throughput --page-size 4k|2m --pages 512,4096 --from 0 --to 1 [--runs 5] [--direction push|pull]
 *              [--both-directions] [--kernel NAME] [--engine NAME] [--threads N] [--json]
 *
 * For each number of pages: memory is allocated on the source node, every 8 bytes of it are filled with a pattern of
 * its page and run, the pages are moved, and then each page's status, its node (by move_pages' query form) and all its
 * contents are checked. Only the system call is timed. A mismatch is told and ends the program with 1.
 *
 * --pages counts 4 KB pages or, with 2m, transparent huge pages, which must be mapped as such before and after
 * (AnonHugePages of /proc/self/smaps). In the output `pages` always counts 4 KB pages.
 *
 * --direction says where the calling thread runs: push on a CPU of the source node (the default), pull on one of the
 * destination. An engine that copies in the calling thread (none, cpu) therefore pushes or pulls as the thread does.
 * A node without CPUs leaves the thread where it is. --both-directions measures the way back as well: from and to are
 * exchanged and so is the thread's node.
 *
 * --kernel, --engine and --threads are labels for the rows, not settings. --json prints a row a line.
 *
 * copy_gbps_mean is the same for the copy stage alone, 0 where the kernel does not tell (copyphase.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "copyphase.h"
#include "options.h"

#define KB4 4096UL
#define MB2 (2UL << 20)
#define MAX_NODE 1023
#define MAX_SIZES 32
#define MAX_RUNS 1000
#define MPOL_BIND 2
#define MPOL_MF_MOVE 2

static struct options {
	unsigned long unit; /* bytes of a page as counted by --pages */
	unsigned long pages[MAX_SIZES];
	int sizes, runs, from, to, pull, both, json, threads;
	const char *kernel, *engine;
} opt = { .unit = KB4,
	  .runs = 5,
	  .from = 0,
	  .to = 1,
	  .threads = 1,
	  .kernel = "unknown",
	  .engine = "none" };

/* ---- the memory */

struct area {
	char *at;
	unsigned long bytes, count; /* count: system pages (4 KB) or THPs, as moved */
	void **page; /* addresses handed to move_pages */
	int *node, *status;
};

static uint64_t word_of(uint64_t seed, unsigned long page)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + page * 0xbf58476d1ce4e5b9ULL + 1;

	x ^= x >> 29;
	return x * 0x94d049bb133111ebULL;
}

static void fill(const struct area *a, uint64_t seed)
{
	unsigned long p, i;

	for (p = 0; p < a->bytes / KB4; p++) {
		uint64_t *w = (uint64_t *)(a->at + p * KB4), x = word_of(seed, p);

		for (i = 0; i < KB4 / 8; i++, x += 0x100000001b3ULL)
			w[i] = x;
	}
}

static void check_contents(const struct area *a, uint64_t seed)
{
	unsigned long p, i;

	for (p = 0; p < a->bytes / KB4; p++) {
		uint64_t *w = (uint64_t *)(a->at + p * KB4), x = word_of(seed, p);

		for (i = 0; i < KB4 / 8; i++, x += 0x100000001b3ULL)
			if (w[i] != x)
				fail("MISMATCH in page %lu of %lu at byte %lu: %016llx instead of %016llx.",
				     p, a->bytes / KB4, i * 8, (unsigned long long)w[i],
				     (unsigned long long)x);
	}
}

/* Where every 4 KB page is, by the query form, in pieces. */
static void check_nodes(const struct area *a, int node)
{
	static void *page[4096];
	static int status[4096];
	unsigned long done = 0, all = a->bytes / KB4, n, i;

	for (; done < all; done += n) {
		n = all - done < 4096 ? all - done : 4096;
		for (i = 0; i < n; i++)
			page[i] = a->at + (done + i) * KB4;
		if (syscall(SYS_move_pages, 0, n, page, NULL, status, 0))
			fail("asking for the nodes of pages failed: %s.", strerror(errno));
		for (i = 0; i < n; i++)
			if (status[i] != node)
				fail("MISMATCH: page %lu of %lu is on node %d instead of %d.",
				     done + i, all, status[i], node);
	}
}

/* Bytes of the area that are mapped as huge pages. */
static unsigned long huge_bytes(const struct area *a)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long lo, hi, kb, sum = 0;
	int inside = 0;
	char s[512];

	if (!f)
		fail("cannot read /proc/self/smaps: %s.", strerror(errno));
	while (fgets(s, sizeof(s), f)) {
		if (sscanf(s, "%lx-%lx ", &lo, &hi) == 2)
			inside = lo < (unsigned long)a->at + a->bytes && hi > (unsigned long)a->at;
		else if (inside && sscanf(s, "AnonHugePages: %lu", &kb) == 1)
			sum += kb << 10;
	}
	fclose(f);
	return sum;
}

static void check_huge(const struct area *a, const char *when)
{
	unsigned long have = huge_bytes(a), want = opt.unit == MB2 ? a->bytes : 0;

	if (have != want)
		fail("%s the move %lu of %lu bytes are mapped as huge pages, %lu should be%s.",
		     when, have, a->bytes, want,
		     opt.unit == MB2 ? " (too little free memory on the node, or THP is off)" : "");
}

/* Bound memory that does not fit ends in the OOM killer: refuse it before. */
static void check_room(unsigned long bytes, int node)
{
	unsigned long kb = 0;
	char path[64], s[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	f = fopen(path, "r");
	while (f && fgets(s, sizeof(s), f))
		if (sscanf(s, "Node %*d MemFree: %lu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	if (bytes + (32UL << 20) > kb << 10)
		fail("%lu MB do not fit on node %d, which has %lu MB free; ask for fewer pages.",
		     bytes >> 20, node, kb >> 10);
}

static void allocate(struct area *a, unsigned long count, int node)
{
	unsigned long mask[(MAX_NODE + 1) / 64] = { 0 }, slack = MB2, i;
	char *raw;

	a->count = count;
	a->bytes = count * opt.unit;
	raw = mmap(NULL, a->bytes + 2 * slack, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		fail("cannot map %lu bytes: %s.", a->bytes, strerror(errno));
	a->at = (char *)(((unsigned long)raw + slack) & ~(slack - 1));
	munmap(raw, a->at - raw);
	munmap(a->at + a->bytes, raw + a->bytes + 2 * slack - (a->at + a->bytes));
	mask[node / 64] = 1UL << node % 64;
	if (syscall(SYS_mbind, a->at, a->bytes, MPOL_BIND, mask, MAX_NODE + 1, 0))
		fail("memory cannot be bound to node %d: %s.", node, strerror(errno));
	if (madvise(a->at, a->bytes, opt.unit == MB2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		fail("this kernel has no transparent huge pages: %s.", strerror(errno));
	a->page = calloc(count, sizeof(*a->page));
	a->node = calloc(count, sizeof(*a->node));
	a->status = calloc(count, sizeof(*a->status));
	if (!a->page || !a->node || !a->status)
		fail("out of memory for %lu page addresses.", count);
	for (i = 0; i < count; i++)
		a->page[i] = a->at + i * opt.unit;
}

static void release(struct area *a)
{
	munmap(a->at, a->bytes);
	free(a->page);
	free(a->node);
	free(a->status);
}

/* ---- the move */

/* The calling thread onto the CPUs of a node; a node without CPUs changes nothing. */
static void run_on(int node)
{
	char path[64], list[1024] = "", *s, *end;
	cpu_set_t set;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
	f = fopen(path, "r");
	if (!f)
		fail("there is no node %d here; /sys/devices/system/node/online lists those there are.",
		     node);
	if (!fgets(list, sizeof(list), f))
		list[0] = 0;
	fclose(f);
	CPU_ZERO(&set);
	for (s = list; *s >= '0' && *s <= '9'; s = *end == ',' ? end + 1 : end) {
		long lo = strtol(s, &end, 10), hi = *end == '-' ? strtol(end + 1, &end, 10) : lo;

		for (; lo <= hi; lo++)
			CPU_SET(lo, &set);
	}
	if (CPU_COUNT(&set) && sched_setaffinity(0, sizeof(set), &set))
		fail("cannot run on the CPUs of node %d: %s.", node, strerror(errno));
}

/* Seconds of the copy stages of the last move, 0 if unknown. */
static double copy_seconds;

/* Moves everything to a node, checks each page's status, and returns the seconds of the system call. */
static double move_to(struct area *a, int node)
{
	struct timespec t0, t1;
	unsigned long i;
	long left;

	for (i = 0; i < a->count; i++) {
		a->node[i] = node;
		a->status[i] = -4096;
	}
	copyphase_begin();
	clock_gettime(CLOCK_MONOTONIC, &t0);
	left = syscall(SYS_move_pages, 0, a->count, a->page, a->node, a->status, MPOL_MF_MOVE);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	copy_seconds = copyphase_end(a->bytes / KB4);
	if (left < 0)
		fail("move_pages failed: %s.", strerror(errno));
	for (i = 0; i < a->count; i++)
		if (a->status[i] != node)
			fail("MISMATCH: page %lu of %lu has status %d (%s) instead of node %d; %ld were not moved.",
			     i, a->count, a->status[i],
			     a->status[i] < 0 ? strerror(-a->status[i]) : "a node", node, left);
	if (left)
		fail("MISMATCH: move_pages says that %ld of %lu were not moved, yet every status is the node.",
		     left, a->count);
	return (t1.tv_sec - t0.tv_sec) + (t1.tv_nsec - t0.tv_nsec) / 1e9;
}

/* The same with everything else checked too: what is measured goes through here. */
static double move_checked(struct area *a, int node, uint64_t seed)
{
	double seconds;

	fill(a, seed);
	check_huge(a, "before");
	seconds = move_to(a, node);
	check_huge(a, "after");
	check_nodes(a, node);
	check_contents(a, seed);
	return seconds;
}

/* Figures of a run: of the whole call, and of its copy stages. */
struct figures {
	double gbps, copy_gbps;
};

static struct figures figures(double bytes, double seconds)
{
	return (struct figures){ bytes / seconds / 1e9,
				 copy_seconds > 0 ? bytes / copy_seconds / 1e9 : 0 };
}

static void report(int from, int to, unsigned long bytes, const struct figures *run)
{
	double mean = 0, sd = 0, copy = 0, best = 0, best_copy = 0;
	int i;

	for (i = 0; i < opt.runs; i++) {
		mean += run[i].gbps / opt.runs;
		copy += run[i].copy_gbps / opt.runs;
		best = fmax(best, run[i].gbps);
		best_copy = fmax(best_copy, run[i].copy_gbps);
	}
	for (i = 0; i < opt.runs; i++)
		sd += (run[i].gbps - mean) * (run[i].gbps - mean);
	sd = opt.runs > 1 ? sqrt(sd / (opt.runs - 1)) : 0;
	if (opt.json)
		printf("{\"kernel\":\"%s\",\"engine\":\"%s\",\"threads\":%d,\"direction\":\"%s\",\"from\":%d,\"to\":%d,"
		       "\"page_size\":%lu,\"pages\":%lu,\"gbps_mean\":%.6f,\"gbps_sd\":%.6f,"
		       "\"gbps_best\":%.6f,\"copy_gbps_mean\":%.6f,\"copy_gbps_best\":%.6f,"
		       "\"runs\":%d,\"verified\":true}\n",
		       opt.kernel, opt.engine, opt.threads, opt.pull ? "pull" : "push", from, to,
		       opt.unit, bytes / KB4, mean, sd, best, copy, best_copy, opt.runs);
	else
		printf("%s %6lu x %s  node %d -> %d  %8.3f +- %.3f GB/s  (%d runs, every byte checked)\n",
		       opt.pull ? "pull" : "push", bytes / opt.unit,
		       opt.unit == MB2 ? "2 MB" : "4 KB", from, to, mean, sd, opt.runs);
	fflush(stdout);
}

static void measure(unsigned long count)
{
	static struct figures there[MAX_RUNS], back[MAX_RUNS];
	struct area a;
	uint64_t seed = count;
	double bytes;
	int i;

	run_on(opt.from);
	check_room(count * opt.unit, opt.from);
	check_room(count * opt.unit, opt.to);
	allocate(&a, count, opt.from);
	bytes = a.bytes;
	for (i = -1; i < opt.runs; i++) { /* the first round warms up and is not counted */
		double t;

		run_on(opt.pull ? opt.to : opt.from);
		t = move_checked(&a, opt.to, seed++);
		if (i >= 0)
			there[i] = figures(bytes, t);
		run_on(opt.pull ? opt.from : opt.to);
		t = opt.both ? move_checked(&a, opt.from, seed++) : move_to(&a, opt.from);
		if (i >= 0)
			back[i] = figures(bytes, t);
	}
	report(opt.from, opt.to, a.bytes, there);
	if (opt.both)
		report(opt.to, opt.from, a.bytes, back);
	release(&a);
}

static const char *label(const char *what, const char *s)
{
	if (!*s ||
	    s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")])
		fail("%s wants letters, digits, '.', '_' and '-', not '%s'.", what, s);
	return s;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = { { "page-size", 1, 0, 's' },
					       { "pages", 1, 0, 'p' },
					       { "from", 1, 0, 'f' },
					       { "to", 1, 0, 't' },
					       { "runs", 1, 0, 'r' },
					       { "direction", 1, 0, 'd' },
					       { "both-directions", 0, 0, 'b' },
					       { "kernel", 1, 0, 'k' },
					       { "engine", 1, 0, 'e' },
					       { "threads", 1, 0, 'n' },
					       { "json", 0, 0, 'j' },
					       { "help", 0, 0, 'h' },
					       { 0 } };
	char *s;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			if (strcmp(optarg, "4k") && strcmp(optarg, "2m"))
				fail("--page-size is 4k or 2m, not '%s'.", optarg);
			opt.unit = optarg[0] == '4' ? KB4 : MB2;
			break;
		case 'p':
			for (s = strtok(optarg, ","); s; s = strtok(NULL, ",")) {
				if (opt.sizes == MAX_SIZES)
					fail("--pages takes %d numbers at the most.", MAX_SIZES);
				opt.pages[opt.sizes++] = number("--pages", s, 1, 1UL << 26);
			}
			break;
		case 'd':
			if (strcmp(optarg, "push") && strcmp(optarg, "pull"))
				fail("--direction is push or pull, not '%s'.", optarg);
			opt.pull = optarg[2] == 'l';
			break;
		case 'f':
			opt.from = number("--from", optarg, 0, MAX_NODE - 1);
			break;
		case 't':
			opt.to = number("--to", optarg, 0, MAX_NODE - 1);
			break;
		case 'r':
			opt.runs = number("--runs", optarg, 1, MAX_RUNS);
			break;
		case 'n':
			opt.threads = number("--threads", optarg, 1, 4096);
			break;
		case 'k':
			opt.kernel = label("--kernel", optarg);
			break;
		case 'e':
			opt.engine = label("--engine", optarg);
			break;
		case 'b':
			opt.both = 1;
			break;
		case 'j':
			opt.json = 1;
			break;
		case 'h':
			printf("usage: throughput --page-size 4k|2m --pages N[,N...] --from NODE --to NODE [--runs N]\n"
			       "       [--direction push|pull] [--both-directions] [--kernel NAME] [--engine NAME] [--threads N] [--json]\n");
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		fail("unexpected argument '%s'; --help shows the usage.", argv[optind]);
	if (!opt.sizes)
		fail("--pages is missing; --help shows the usage.");
	if (opt.from == opt.to)
		fail("--from and --to are the same node.");
}

int main(int argc, char **argv)
{
	int i;

	parse(argc, argv);
	run_on(opt.to); /* both nodes must exist before anything is allocated */
	run_on(opt.from);
	if (strcmp(opt.engine, "none")) /* then the moves copy, after that stage */
		copyphase_open();
	for (i = 0; i < opt.sizes; i++)
		measure(opt.pages[i]);
	copyphase_close();
	return 0;
}
