// SPDX-License-Identifier: GPL-2.0
/* The charge of a memory cgroup moves with its pages, and goes when they are freed (H10). */
#include "lib/mem.h"

#define ROOT "/sys/fs/cgroup/"
#define GROUP ROOT "foliolift"

static int group_number;
static char group[64];

static long long current(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/memory.current", group);
	return get(path);
}

/* Bytes of anonymous memory or of files on @node that the group is charged for */
static long long on_node_charged(const char *kind, int node)
{
	char path[96], line[256], key[16];
	long long bytes = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/memory.numa_stat", group);
	snprintf(key, sizeof(key), " N%d=", node);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *p;

		if (strncmp(line, kind, strlen(kind)) || line[strlen(kind)] != ' ')
			continue;
		p = strstr(line, key);
		if (p)
			bytes = strtoll(p + strlen(key), NULL, 10);
	}
	if (f)
		fclose(f);
	return bytes;
}

#define SLACK (16 * (long long)PAGE) /* other pages of this process */

/* The statistics may lag by some seconds. */
static void settles(const char *what, const char *kind, int node, long long want)
{
	long long got = -1;
	int i;

	for (i = 0; i < 100; i++) {
		got = on_node_charged(kind, node);
		if (got >= want - SLACK && got <= want + SLACK)
			break;
		usleep(100000);
	}
	if (!ok(i < 100, "%s: %lld KB are charged on node %d", what, want >> 10, node))
		diag("it is %lld KB", got >> 10);
}

static void try(const char *what, int huge, int shared)
{
	size_t len = huge ? 4 * HUGE : 800 * PAGE, step = huge ? HUGE : PAGE;
	const char *kind = shared ? "shmem" : "anon";
	long long base, before, after;
	char path[96], *p;
	int node, fd = -1, i;

	snprintf(group, sizeof(group), GROUP "%d", group_number++);
	if (mkdir(group, 0755))
		fatal("a cgroup can be made");
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	put(path, "%d", getpid());
	alloc_on(0);
	p = shared ? map_shmem(len, huge, &fd) : map_anon(len, huge);
	base = current();
	fill(p, len, 3);
	alloc_on(-1);
	settles(what, kind, 0, len);
	settles(what, kind, 1, 0);
	before = current();
	ok(before - base >= (long long)len - 64 * (long long)PAGE, "%s: the group pays for them",
	   what);
	for (node = 1; node >= 0; node--) {
		is(move(p, len, step, node), 0, "%s: move_pages to node %d", what, node);
		settles(what, kind, node, len);
		settles(what, kind, !node, 0);
		after = current();
		/* charges are taken in advance, 64 pages a CPU */
		if (!ok(llabs(after - before) <= 256 * (long long)PAGE,
			"%s: the group pays for no more and no less", what))
			diag("%lld before, %lld after", before, after);
	}
	is(check(p, len, 3), 0, "%s: no page differs", what);
	munmap(p, len);
	if (fd >= 0)
		close(fd);
	put(ROOT "cgroup.procs", "%d", getpid());
	for (i = 0; i < 100; i++) {
		after = current();
		if (after < (long long)len / 4)
			break;
		usleep(100000);
	}
	if (!ok(after < (long long)len / 4, "%s: freed, nobody pays", what))
		diag("%lld bytes are still charged", after);
	is(rmdir(group), 0, "%s: the cgroup can be removed", what);
}

static void test(void)
{
	lift_begin();
	if (write_file(ROOT "cgroup.subtree_control", "+memory")) {
		skip("memory cgroups", "this kernel has none");
		return;
	}
	try("4 KB", 0, 0);
	try("THP", 1, 0);
	try("shmem", 0, 1);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("memcg", 90, test);
}
