// SPDX-License-Identifier: GPL-2.0
/*
 * moveonce: moves pages from one node to another with one move_pages(2) call, for the instruction profile.
 *
 *   moveonce --page-size 4k|2m --folios N [--warm-up W] [--repeat K] [--from 0] [--to 1] [--cpu 0]
 *
 * W calls that are not counted, then K that are. Only the system call lies between the marks of lab/plugin/mark.h,
 * which the profile plugin counts from and to. The memory of each call is freshly allocated on the source node and
 * touched before, so that every call does the same work; the calls before have brought the page allocator's lists of
 * this CPU to where they stay. After the end mark each page's status, its node and words of its contents are checked;
 * a mismatch is told and ends the program with 1.
 *
 * --folios counts 4 KB pages or, with 2m, transparent huge pages, which must be mapped as such before and after.
 *
 * Output, a line for each window: page_size=4096 folios=8 pages=8 ns=88123
 * `pages` counts 4 KB pages; `ns` is the guest's clock around the call, with -icount one nanosecond an instruction
 * (including the clock's own reading, and time in which every CPU was idle).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
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

#include "../lab/plugin/mark.h"
#include "options.h"

#define KB4 4096UL
#define MB2 (2UL << 20)
#define STRIDE 512UL		/* bytes between the words that are filled and checked */
#define MPOL_DEFAULT 0
#define MPOL_BIND 2
#define MPOL_MF_MOVE 2

static struct options {
	unsigned long size;	/* bytes of a folio */
	unsigned long folios, warm_up, repeat, from, to, cpu;
} opt = { .repeat = 1, .to = 1 };

/* ---- the memory and its contents ------------------------------------------------------------ */

static void allocate_on(long node)
{
	unsigned long mask[2] = { node < 0 ? 0 : 1UL << node };

	if (syscall(SYS_set_mempolicy, node < 0 ? MPOL_DEFAULT : MPOL_BIND, node < 0 ? NULL : mask,
		    node < 0 ? 0 : 65))
		fail("cannot bind memory to node %ld: %s.", node, strerror(errno));
}

static uint64_t pattern(unsigned long run, unsigned long offset)
{
	return (run * 0x9e3779b97f4a7c15ULL + offset) * 0xff51afd7ed558ccdULL + 1;
}

static void fill(char *area, unsigned long bytes, unsigned long run)
{
	unsigned long at;

	for (at = 0; at < bytes; at += STRIDE)
		*(volatile uint64_t *)(area + at) = pattern(run, at);
}

static void check(const char *area, unsigned long bytes, unsigned long run)
{
	unsigned long at;

	for (at = 0; at < bytes; at += STRIDE)
		if (*(volatile const uint64_t *)(area + at) != pattern(run, at))
			fail("wrong data %lu bytes into the memory that was moved.", at);
}

/* Bytes of the area that are mapped by transparent huge pages. */
static unsigned long huge_bytes(const char *area)
{
	unsigned long start, end, kb, sum = 0;
	char line[256];
	int inside = 0;
	FILE *f = fopen("/proc/self/smaps", "r");

	if (!f)
		fail("cannot read /proc/self/smaps: %s.", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = (unsigned long)area >= start && (unsigned long)area < end;
		else if (inside && sscanf(line, "AnonHugePages: %lu kB", &kb) == 1)
			sum += kb << 10;
	}
	fclose(f);
	return sum;
}

static void check_huge(const char *area, unsigned long bytes, const char *when)
{
	unsigned long huge = huge_bytes(area);

	if (opt.size == MB2 ? huge < bytes : huge)
		fail("%s the move %lu of %lu bytes are huge pages.", when, huge, bytes);
}

/* ---- one call -------------------------------------------------------------------------------- */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *zeroed(unsigned long n, unsigned long size)
{
	void *p = malloc(n * size);

	if (!p)
		fail("out of memory.");
	return memset(p, 0, n * size);
}

static void move_once(unsigned long run, int counted)
{
	unsigned long i, n = opt.folios, bytes = n * opt.size, room = bytes + 3 * MB2;
	void **pages = zeroed(n, sizeof(*pages));
	int *nodes = zeroed(n, sizeof(*nodes));
	int *status = zeroed(n, sizeof(*status));
	char *raw, *area;
	uint64_t before, after;
	long ret;

	/* On both sides a gap: a mapping next to this one would share its anon_vma and lengthen every walk. */
	raw = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (raw == MAP_FAILED)
		fail("cannot map %lu bytes: %s.", room, strerror(errno));
	area = (char *)(((unsigned long)raw + 2 * MB2 - 1) & -MB2);
	if (mmap(area, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		fail("cannot map %lu bytes: %s.", bytes, strerror(errno));
	if (madvise(area, bytes, opt.size == MB2 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		fail("madvise: %s.", strerror(errno));
	for (i = 0; i < n; i++) {
		pages[i] = area + i * opt.size;
		nodes[i] = opt.to;
		status[i] = -1;
	}
	check_huge(area, 0, "before");	/* the text of smaps is paged in, its buffers exist */
	allocate_on(opt.from);
	fill(area, bytes, run);
	allocate_on(-1);
	if (opt.size == MB2)
		check_huge(area, bytes, "before");

	before = now();
	if (counted)
		profile_begin();
	ret = syscall(SYS_move_pages, 0, n, pages, nodes, status, MPOL_MF_MOVE);
	if (counted)
		profile_end();
	after = now();

	if (ret)
		fail("move_pages: %ld pages were not moved (%s).", ret, ret < 0 ? strerror(errno) : "no error");
	for (i = 0; i < n; i++)
		if (status[i] != (int)opt.to)
			fail("folio %lu of %lu has status %d.", i, n, status[i]);
	if (syscall(SYS_move_pages, 0, n, pages, NULL, status, 0))
		fail("cannot ask for the pages' nodes: %s.", strerror(errno));
	for (i = 0; i < n; i++)
		if (status[i] != (int)opt.to)
			fail("folio %lu of %lu is on node %d.", i, n, status[i]);
	check(area, bytes, run);
	check_huge(area, bytes, "after");
	if (counted)
		printf("page_size=%lu folios=%lu pages=%lu ns=%llu\n", opt.size, n, bytes / KB4,
		       (unsigned long long)(after - before));
	munmap(raw, room);
	free(pages);
	free(nodes);
	free(status);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "page-size", required_argument, NULL, 's' },
		{ "folios", required_argument, NULL, 'n' },
		{ "warm-up", required_argument, NULL, 'w' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "from", required_argument, NULL, 'f' },
		{ "to", required_argument, NULL, 't' },
		{ "cpu", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	unsigned long run;
	cpu_set_t cpus;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			if (!strcmp(optarg, "4k"))
				opt.size = KB4;
			else if (!strcmp(optarg, "2m"))
				opt.size = MB2;
			else
				fail("unknown page size '%s'; known are 4k and 2m.", optarg);
			break;
		case 'n':
			opt.folios = number("--folios", optarg, 1, 1UL << 24);
			break;
		case 'w':
			opt.warm_up = number("--warm-up", optarg, 0, 10000);
			break;
		case 'r':
			opt.repeat = number("--repeat", optarg, 1, 10000);
			break;
		case 'f':
			opt.from = number("--from", optarg, 0, 63);
			break;
		case 't':
			opt.to = number("--to", optarg, 0, 63);
			break;
		case 'c':
			opt.cpu = number("--cpu", optarg, 0, CPU_SETSIZE - 1);
			break;
		default:
			fail("its first lines tell its options.");
		}
	}
	if (optind < argc || !opt.size || !opt.folios)
		fail("wants --page-size and --folios.");
	CPU_ZERO(&cpus);
	CPU_SET(opt.cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		fail("cannot run on CPU %lu: %s.", opt.cpu, strerror(errno));
	for (run = 0; run < opt.warm_up + opt.repeat; run++)
		move_once(run, run >= opt.warm_up);
	return 0;
}
