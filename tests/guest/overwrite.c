// SPDX-License-Identifier: GPL-2.0
/*
 * Destinations are not zeroed before they are overwritten (A8). So node 1 is soiled first: whatever then moves there
 * without being written whole shows 0xa5 where there should be something else. Every kind of memory moves there, by
 * every way; moves fail and are tried again; and who allocates memory afterwards finds zeroes.
 */
#include "lib/disk.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/swap.h>

#define SMALL (600 * PAGE)

/*
 * Fill free memory of node 1, beginning with what is in small pieces, and give it back: what was freed last is what is
 * handed out first.
 */
static void soil(void)
{
	size_t pieces = 150 * MB, rest = 450 * MB;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alloc_on(1);
		memset(map_anon(pieces, 0), 0xa5, pieces);
		memset(map_anon(rest, 1), 0xa5, rest);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		fatal("the free memory of node 1 can be filled");
}

/* Bytes of [p, p + len) that are not @want */
static size_t other_than(const char *p, size_t len, char want)
{
	static char same[PAGE];
	size_t bad = 0, i;

	memset(same, want, PAGE);
	for (; len; p += i, len -= i) {
		i = len < PAGE ? len : PAGE;
		if (memcmp(p, same, i)) {
			if (!bad)
				diag("at %p there is %02x", (void *)p, *(unsigned char *)p);
			bad++;
		}
	}
	return bad;
}

static void fresh_is_zero(const char *when)
{
	size_t len = 64 * MB;
	char *p, *q;

	alloc_on(1);
	p = map_anon(len, 0);
	q = map_anon(len, 1);
	madvise(p, len, 23 /* MADV_POPULATE_WRITE */);
	madvise(q, len, 23);
	alloc_on(-1);
	is(other_than(p, len, 0) + other_than(q, len, 0), 0, "%s: fresh memory is zero", when);
	munmap(p, len);
	munmap(q, len);
}

/* To the soiled node and back; @p is checked by the caller as well if not all of it is a pattern. */
static void there_and_back(const char *what, char *p, size_t len, size_t step, uint64_t seed)
{
	int node;

	for (node = 1; node >= 0; node--) {
		is(move(p, len, step, node), 0, "%s: moves to node %d", what, node);
		is(on_node(p, len, node), len / PAGE, "%s: is there", what);
		if (seed)
			is(check(p, len, seed), 0, "%s: no byte differs", what);
		else
			is(other_than(p, len, 0), 0, "%s: all is zero", what);
	}
}

/* ----- anonymous memory ----- */

static void test_anon(void)
{
	size_t len = SMALL, i, bad;
	char *p;

	alloc_on(0);
	p = map_anon(len, 0);
	fill(p, len, 1);
	there_and_back("4 KB", p, len, PAGE, 1);
	memset(p, 0, len);
	there_and_back("zeroes", p, len, PAGE, 0);
	munmap(p, len);

	p = map_anon(4 * HUGE, 1);
	fill(p, 4 * HUGE, 2);
	there_and_back("THP", p, 4 * HUGE, HUGE, 2);
	munmap(p, 4 * HUGE);

	p = map_anon(4 * HUGE, 1);
	for (i = 0; i < 4; i++)
		*(volatile char *)(p + i * HUGE) = 0;
	there_and_back("a THP that nothing was written to", p, 4 * HUGE, HUGE, 0);
	munmap(p, 4 * HUGE);

	p = map_anon(len, 0);
	for (i = 0; i < len / PAGE; i += 2)
		fill_page(p + i * PAGE, 3, i);
	move(p, len, PAGE, 1);
	for (bad = i = 0; i < len / PAGE; i++)
		bad += i % 2 ? other_than(p + i * PAGE, PAGE, 0) :
			       (size_t)(check_page(p + i * PAGE, 3, i) >= 0);
	is(bad, 0, "pages never touched, between others that move: no byte differs");
	munmap(p, len);
	alloc_on(-1);
}

/* ----- files ----- */

static void test_shmem(void)
{
	size_t len = SMALL, i, bad;
	char *p;
	int fd;

	alloc_on(0);
	p = map_shmem(len, 0, &fd);
	fill(p, len, 4);
	there_and_back("shmem", p, len, PAGE, 4);
	munmap(p, len);
	close(fd);

	p = map_shmem(2 * HUGE, 1, &fd);
	fill(p, 2 * HUGE, 5);
	there_and_back("shmem THP", p, 2 * HUGE, HUGE, 5);
	munmap(p, 2 * HUGE);
	close(fd);

	p = map_shmem(len, 0, &fd);
	for (i = 0; i < len / PAGE; i += 2)
		fill_page(p + i * PAGE, 6, i);
	move(p, len, PAGE, 1);
	for (bad = i = 0; i < len / PAGE; i++)
		bad += i % 2 ? other_than(p + i * PAGE, PAGE, 0) :
			       (size_t)(check_page(p + i * PAGE, 6, i) >= 0);
	is(bad, 0, "shmem with holes: no byte differs");
	munmap(p, len);
	close(fd);
	alloc_on(-1);
}

static void test_file(const char *type)
{
	size_t len = 300 * PAGE, tail = 1000;
	char path[96], *p;
	struct disk d;
	int fd, clean;

	if (!file_system(type)) {
		skip(type, "this kernel does not have it");
		return;
	}
	alloc_on(0);
	disk_new(&d, 32 * MB);
	disk_format(&d, type);
	snprintf(path, sizeof(path), "%s/file", d.dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, len - tail))
		fatal("a file can be made on %s", type);
	p = map_at(len, PAGE, MAP_SHARED, fd);
	fill(p, len - PAGE, 7);
	memset(p + len - PAGE, 7, PAGE - tail);
	for (clean = 0; clean < 2; clean++) {
		if (clean)
			fsync(fd);
		is(move(p, len, PAGE, !clean), 0, "%s, %s: moves to node %d", type,
		   clean ? "clean" : "dirty", !clean);
		is(check(p, len - PAGE, 7), 0, "%s: no byte differs", type);
		is(other_than(p + len - PAGE, PAGE - tail, 7) + other_than(p + len - tail, tail, 0),
		   0, "%s: nor in the last page, nor behind its end", type);
	}
	munmap(p, len);
	close(fd);
	disk_end(&d);
	alloc_on(-1);
}

static void test_hugetlb(void)
{
	static const char nr[] =
		"/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages";
	char path[2][96], *p;
	int i;

	for (i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), nr, i);
		put(path[i], "2");
	}
	alloc_on(0);
	p = map_at(2 * HUGE, HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	p[0] = p[HUGE] = 0;
	there_and_back("hugetlb that nothing was written to", p, 2 * HUGE, HUGE, 0);
	fill(p, 2 * HUGE, 8);
	there_and_back("hugetlb", p, 2 * HUGE, HUGE, 8);
	munmap(p, 2 * HUGE);
	alloc_on(-1);
	for (i = 0; i < 2; i++)
		put(path[i], "0");
}

/* ----- swap cache ----- */

static size_t count(char *p, size_t len, int flag)
{
	size_t n = 0, i;

	for (i = 0; i < len; i += PAGE)
		n += flag < 0 ? pagemap(p + i) >> 62 & 1 : (uint64_t)page_is(p + i, flag);
	return n;
}

static void test_swap(void)
{
	static const char *const modules[] = { "lzo_compress", "lzo_decompress", "zsmalloc",
					       "zram" };
	size_t len = 200 * PAGE, i, n;
	int fds[2], status = 0;
	char *p, go;
	pid_t pid;

	for (i = 0; !exists("/sys/block/zram0") && i < 4; i++)
		insmod(modules[i]);
	if (!exists("/sys/block/zram0")) {
		skip("swap cache", "this kernel has no zram");
		return;
	}
	put("/sys/block/zram0/disksize", "64M");
	run("mkswap /dev/zram0 >/dev/null");
	if (swapon("/dev/zram0", 0))
		fatal("there can be swap");
	alloc_on(0);
	p = map_anon(len, 0);
	fill(p, len, 9);
	for (i = 0; i < 20 && count(p, len, -1) < 150; i++)
		madvise(p, len, 21 /* MADV_PAGEOUT */);
	ok(count(p, len, -1) >= 150, "swap cache: pages are swapped out");
	/* another user of the swap slots, so that what is read in stays in the swap cache */
	if (pipe(fds))
		fatal("a pipe can be had");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		_exit(read(fds[0], &go, 1) == 1 && !check(p, len, 9) ? 0 : 1);
	}
	is(check(p, len, 9), 0, "swap cache: pages are read in");
	n = count(p, len, 13 /* KPF_SWAPCACHE */);
	diag("%zu pages are in the swap cache", n);
	ok(n >= 100, "swap cache: pages are in it");
	is(move_status(0, p, len, PAGE, 1, MPOL_MF_MOVE_ALL, NULL), 0,
	   "swap cache: moves to node 1");
	ok(count(p, len, 13) >= 100, "swap cache: they are in it still");
	is(check(p, len, 9), 0, "swap cache: no byte differs");
	if (write(fds[1], "x", 1) != 1)
		fatal("a pipe can be written");
	waitpid(pid, &status, 0);
	is(status, 0, "swap cache: nor for the other process");
	is(move_status(0, p, len, PAGE, 0, MPOL_MF_MOVE_ALL, NULL), 0,
	   "swap cache: moves to node 0");
	is(check(p, len, 9), 0, "swap cache: no byte differs");
	munmap(p, len);
	close(fds[0]);
	close(fds[1]);
	if (swapoff("/dev/zram0"))
		fatal("there need not be swap");
	put("/sys/block/zram0/reset", "1");
	alloc_on(-1);
}

/* ----- other ways to move ----- */

static void test_ways(void)
{
	unsigned long mask = 2, from = 1, to = 2;
	size_t len = SMALL, room = 48 * MB, i;
	long long moved;
	char *p;

	alloc_on(0);
	p = map_anon(len, 0);
	fill(p, len, 10);
	is(syscall(SYS_mbind, p, len, MPOL_BIND, &mask, 64ul, MPOL_MF_MOVE | MPOL_MF_STRICT), 0,
	   "mbind: moves");
	is(check(p, len, 10), 0, "mbind: no byte differs");
	munmap(p, len);

	p = map_anon(len, 0);
	fill(p, len, 11);
	alloc_on(-1);
	ok(syscall(SYS_migrate_pages, 0, 64ul, &from, &to) >= 0, "migrate_pages: moves");
	is(on_node(p, len, 1), len / PAGE, "migrate_pages: all of it");
	is(check(p, len, 11), 0, "migrate_pages: no byte differs");
	syscall(SYS_migrate_pages, 0, 64ul, &to, &from);
	munmap(p, len);

	alloc_on(1);
	p = map_anon(room, 0);
	fill(p, room, 12);
	alloc_on(-1);
	for (i = 0; i < room; i += 2 * PAGE)
		madvise(p + i, PAGE, MADV_DONTNEED);
	moved = vmstat("pgmigrate_success");
	/* where the memory happens to lie, there may be nothing to do */
	for (i = 0; i < 3 && vmstat("pgmigrate_success") == moved; i++)
		write_file("/proc/sys/vm/compact_memory", "1");
	if (vmstat("pgmigrate_success") > moved)
		ok(1, "compaction: moves");
	else
		skip("compaction: moves", "it found nothing to move");
	for (moved = 0, i = PAGE; i < room; i += 2 * PAGE)
		moved += check_page(p + i, 12, i / PAGE) >= 0;
	is(moved, 0, "compaction: no byte differs");
	munmap(p, room);
}

/* ----- moves that fail, wholly or at first ----- */

static void fails(const char *what, const char *control, const char *value, int huge)
{
	size_t step = huge ? HUGE : PAGE, len = huge ? 4 * HUGE : SMALL;
	char name[64], path[96], *p;

	snprintf(name, sizeof(name), "%s, %s", what, huge ? "THP" : "4 KB");
	snprintf(path, sizeof(path), TESTER "%s", control);
	lift_set("test");
	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, 13);
	if (value)
		put(path, "%s", value);
	else
		put(path, "0x%lx", (unsigned long)(p + 2 * step));
	is(move(p, len, step, 1), value ? 0 : 1, "%s: move_pages to node 1", name);
	is(check(p, len, 13), 0, "%s: no byte differs", name);
	tester_reset();
	is(move(p, len, step, 0), 0, "%s: back on node 0", name);
	is(check(p, len, 13), 0, "%s: no byte differs", name);
	munmap(p, len);
	alloc_on(-1);
}

/* Nothing can move at first: every page is held, and let go of later. */
static void held(void)
{
	size_t len = 200 * PAGE, i;
	int fds[2];
	char *p;

	lift_set("cpu");
	alloc_on(0);
	p = map_anon(len, 0);
	fill(p, len, 14);
	alloc_on(-1);
	if (pipe(fds) || fcntl(fds[0], F_SETPIPE_SZ, 1 << 20) < 0)
		fatal("a pipe can be had");
	for (i = 0; i < len; i += PAGE) {
		struct iovec v = { p + i, PAGE };

		if (vmsplice(fds[1], &v, 1, 0) != (ssize_t)PAGE)
			fatal("a page can be spliced");
	}
	is(move(p, len, PAGE, 1), len / PAGE, "held pages do not move");
	is(check(p, len, 14), 0, "held pages: no byte differs");
	close(fds[0]);
	close(fds[1]);
	is(move(p, len, PAGE, 1), 0, "held pages: released, they do");
	is(check(p, len, 14), 0, "held pages: no byte differs");
	munmap(p, len);
}

static void test_failures(void)
{
	int huge;

	for (huge = 0; huge < 2; huge++) {
		fails("every third fails", "fail_every", "3", huge);
		fails("one is not reported", "pending_segment", "1", huge);
		fails("declined", "decline", "1", huge);
		fails("one is poisoned", "poison_addr", NULL, huge);
	}
	held();
	fresh_is_zero("after failures");
}

/* ----- a callback that does not write all of its destination ----- */

static void half(const char *engine)
{
	size_t len = 40 * PAGE, i, wrong = 0, dirt = 0;
	char *p;
	int fd;

	lift_set(engine);
	alloc_on(0);
	fd = open("/mnt/half/file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, len))
		fatal("a file can be had");
	p = map_at(len, PAGE, MAP_SHARED, fd);
	fill(p, len, 15);
	alloc_on(-1);
	tester_put("half_fd", "%d", fd);
	is(move(p, len, PAGE, 1), 0, "a callback that copies half, %s: pages move",
	   engine ? engine : "off");
	for (i = 0; i < len / PAGE; i++) {
		static uint64_t want[PAGE / 8];

		fill_page(want, 15, i);
		wrong += memcmp(p + i * PAGE, want, PAGE / 2) != 0;
		dirt += other_than(p + i * PAGE + PAGE / 2, PAGE / 2, 0);
	}
	is(wrong, 0, "a callback that copies half: which is right");
	is(dirt, 0, "a callback that copies half: the other half is zero");
	munmap(p, len);
	close(fd);
}

static void test_half(void)
{
	mkdir("/mnt/half", 0700);
	if (mount("none", "/mnt/half", "ramfs", 0, NULL))
		fatal("ramfs can be mounted");
	tester_load();
	half("cpu");
	half("test");
	half(NULL);
	is(tester_unload(), 0, "the test engine can be removed");
	umount("/mnt/half");
}

/* ----- and destinations really are not zeroed ----- */

/* One of these clears pages, whichever the processor is best at. */
static const char *const clearers[] = { "clear_page_erms", "clear_page_rep", "clear_page_orig" };
static int counters[3];

/* A breakpoint of the processor on each: that cannot be probed, and counts for this task alone. */
static void clears_begin(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_len = sizeof(long),
		.exclude_user = 1,
	};
	char line[256], name[128];
	unsigned long address;
	FILE *f = fopen("/proc/kallsyms", "re");
	int i;

	for (i = 0; i < 3; i++)
		counters[i] = -1;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %127s", &address, name) != 2)
			continue;
		for (i = 0; i < 3; i++) {
			if (strcmp(name, clearers[i]))
				continue;
			attr.bp_addr = address;
			counters[i] = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
					      PERF_FLAG_FD_CLOEXEC);
			if (counters[i] < 0)
				fatal("calls of %s() can be counted", name);
		}
	}
	if (f)
		fclose(f);
}

static long long clears(void)
{
	long long n, sum = 0;
	int i;

	for (i = 0; i < 3; i++)
		if (counters[i] >= 0 && read(counters[i], &n, sizeof(n)) == sizeof(n))
			sum += n;
	return sum;
}

static long long cleared(const char *engine, char *p, size_t len, size_t step)
{
	long long before;

	lift_set(engine);
	move(p, len, step, 0);
	before = clears();
	if (move(p, len, step, 1))
		fatal("pages move");
	return clears() - before;
}

static void test_clears(void)
{
	char *small, *thps;
	long long n;
	int i;

	clears_begin();
	alloc_on(0);
	small = map_anon(512 * PAGE, 0);
	thps = map_anon(4 * HUGE, 1);
	fill(small, 512 * PAGE, 16);
	fill(thps, 4 * HUGE, 17);
	alloc_on(-1);
	n = cleared(NULL, small, 512 * PAGE, PAGE);
	diag("off: %lld pages are cleared when 512 move", n);
	ok(n >= 512, "with foliolift off destinations are zeroed");
	n = cleared("cpu", small, 512 * PAGE, PAGE);
	diag("cpu: %lld are", n);
	ok(n < 50, "with it on they are not");
	n = cleared(NULL, thps, 4 * HUGE, HUGE);
	ok(n >= 4 * 512, "THPs: off, they are");
	n = cleared("cpu", thps, 4 * HUGE, HUGE);
	diag("cpu: %lld are when 4 THPs move", n);
	ok(n < 50, "THPs: on, they are not");
	is(check(small, 512 * PAGE, 16) + check(thps, 4 * HUGE, 17), 0, "no byte differs");
	munmap(small, 512 * PAGE);
	munmap(thps, 4 * HUGE);
	for (i = 0; i < 3; i++)
		close(counters[i]);
}

static void test(void)
{
	lift_begin();
	soil();
	if (!strcmp(lift_mode(), "own")) {
		test_clears();
		test_half();
		test_failures();
	} else {
		test_anon();
		test_shmem();
		test_file("ext4");
		test_file("vfat");
		test_hugetlb();
		test_swap();
		test_ways();
		fresh_is_zero("afterwards");
	}
	lift_set(NULL);
}

int main(void)
{
	return tap_main("overwrite", 90, test);
}
