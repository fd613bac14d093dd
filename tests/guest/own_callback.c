// SPDX-License-Identifier: GPL-2.0
/*
 * Folios that end in another copy than the common one are left to it (H6). An AIO ring's callback copies under a
 * lock of its own; secret memory has no callback that could; zsmalloc's pages are not even on an LRU list. Each is
 * used before, while and after it moves, or fails to.
 */
#include "lib/disk.h"

#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdatomic.h>

/* ----- an AIO ring, which is a page of a file mapped into the process ----- */

static int aio_once(aio_context_t ctx, int file, char *buf, uint64_t seed, size_t index)
{
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file, .aio_buf = (unsigned long)buf, .aio_nbytes = PAGE,
		.aio_offset = index * PAGE, .aio_data = index,
	}, *list = &cb;
	struct io_event event;

	memset(buf, 0, PAGE);
	return syscall(SYS_io_submit, ctx, 1, &list) == 1 &&
	       syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) == 1 && event.data == index &&
	       event.res == (long)PAGE && check_page(buf, seed, index) < 0;
}

static void test_aio(void)
{
	enum { N = 40 };
	static void *pages[N + 1];
	static int nodes[N + 1], status[N + 1];
	aio_context_t ctx = 0;
	struct lift_counts c;
	struct migration_counts m;
	uint64_t seed = rnd();
	char *p, *buf, *ring;
	int file, i, good = 0, node;

	alloc_on(0);
	if (syscall(SYS_io_setup, 16, &ctx)) {
		skip("AIO", "this kernel has none");
		return;
	}
	p = map_anon(N * PAGE, 0);
	fill(p, N * PAGE, seed);
	buf = map_anon(PAGE, 0);
	file = memfd_create("file", 0);
	if (write(file, p, N * PAGE) != (ssize_t)(N * PAGE))
		fatal("a file can be written");
	alloc_on(-1);
	ring = (char *)ctx; /* that is its address */
	ok(aio_once(ctx, file, buf, seed, 1), "AIO works");
	/* the ring in the middle of a batch of ordinary pages; its first page is the one in use */
	for (i = 0; i < N; i++)
		pages[i < N / 2 ? i : i + 1] = p + i * PAGE;
	pages[N / 2] = ring;
	for (node = node_of(ring) ? 0 : 1, i = 0; i < 4; i++, node = !node) {
		int k;

		for (k = 0; k <= N; k++)
			nodes[k] = node;
		move(p, N * PAGE, PAGE, !node);
		c = lift_counts();
		m = migration_counts();
		is(syscall(SYS_move_pages, 0, N + 1, pages, nodes, status, MPOL_MF_MOVE_ALL), 0,
		   "AIO: move_pages to node %d", node);
		m = migration_since(m);
		c = lift_since(c);
		is(node_of(ring), node, "AIO: the ring is on node %d", node);
		is(m.success, N + 1, "AIO: pgmigrate_success");
		is(check(p, N * PAGE, seed), 0, "AIO: no page beside it differs");
		if (lift_engine()) {
			is(c.callback, 1, "AIO: the ring was left to its callback");
			is(c.pages, N, "AIO: the others were copied");
		}
		for (good = k = 0; k < 40; k++) /* more than once round the ring */
			good += aio_once(ctx, file, buf, seed, k % N);
		is(good, 40, "AIO still works");
	}
	syscall(SYS_io_destroy, ctx);
	close(file);
	munmap(p, N * PAGE);
	munmap(buf, PAGE);
}

/* ----- secret memory ----- */

static void test_secret(void)
{
	size_t len = 20 * PAGE;
	uint64_t seed = rnd();
	int fd = syscall(SYS_memfd_secret, 0);
	char *p;

	if (fd < 0) {
		skip("secret memory",
		     "this kernel has none, or it is switched off (secretmem.enable)");
		return;
	}
	if (ftruncate(fd, len))
		fatal("secret memory can be had");
	alloc_on(0);
	p = map_at(len, PAGE, MAP_SHARED, fd);
	fill(p, len, seed);
	alloc_on(-1);
	move(p, len, PAGE, 1);
	is(on_node(p, len, 1), 0, "secret memory does not move");
	is(check(p, len, seed), 0, "secret memory does not differ");
	munmap(p, len);
	close(fd);
}

/* ----- zsmalloc: what is in zram, while compaction moves its pages ----- */

static void test_zram(void)
{
	static const char *const modules[] = { "lzo_compress", "lzo_decompress", "zsmalloc",
					       "zram" };
	size_t len = 24 * MB, i, k, bad = 0;
	long long moved;
	char *p, *buf, *between;
	int fd;

	for (i = 0; !exists("/sys/block/zram0") && i < 4; i++)
		insmod(modules[i]);
	if (!exists("/sys/block/zram0")) {
		skip("zsmalloc", "this kernel has no zram");
		return;
	}
	put("/sys/block/zram0/disksize", "%zu", len);
	fd = open("/dev/zram0", O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		fatal("zram can be opened");
	p = map_anon(MB, 0);
	buf = map_anon(MB, 0);
	/*
	 * Pages that compress to very different sizes, with ordinary memory between them, half of which is given back:
	 * something to compact, with zsmalloc's pages in it.
	 */
	between = map_anon(4 * len, 0);
	for (i = 0; i < len / PAGE; i += MB / PAGE) {
		for (k = 0; k < MB / PAGE; k++) {
			fill_page(p + k * PAGE, 5, i + k);
			memset(p + k * PAGE + mix(i + k) % PAGE, (int)(i + k),
			       PAGE - mix(i + k) % PAGE);
		}
		if (pwrite(fd, p, MB, i * PAGE) != (ssize_t)MB)
			fatal("zram can be written");
		for (k = 0; k < 4 * MB; k += PAGE)
			between[4 * i * PAGE + k] = 1;
	}
	for (i = 0; i < 4 * len; i += 2 * PAGE)
		madvise(between + i, PAGE, MADV_DONTNEED);
	moved = vmstat("pgmigrate_success");
	write_file("/proc/sys/vm/compact_memory", "1");
	for (i = PAGE; i < 4 * len; i += 4 * PAGE)
		madvise(between + i, PAGE, MADV_DONTNEED);
	write_file("/proc/sys/vm/compact_memory", "1");
	moved = vmstat("pgmigrate_success") - moved;
	for (i = 0; i < len / PAGE; i += MB / PAGE) {
		if (pread(fd, buf, MB, i * PAGE) != (ssize_t)MB)
			fatal("zram can be read");
		for (k = 0; k < MB / PAGE; k++) {
			fill_page(p, 5, i + k);
			memset(p + mix(i + k) % PAGE, (int)(i + k), PAGE - mix(i + k) % PAGE);
			bad += memcmp(p, buf + k * PAGE, PAGE) != 0;
		}
	}
	diag("compaction moved %lld pages", moved);
	ok(moved > 0, "zsmalloc: compaction moved pages");
	is(bad, 0, "zsmalloc: nothing is lost by compaction");
	close(fd);
	put("/sys/block/zram0/reset", "1");
	munmap(between, 4 * len);
	munmap(p, MB);
	munmap(buf, MB);
}

static void test(void)
{
	lift_begin();
	test_aio();
	test_secret();
	test_zram();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("own_callback", 60, test);
}
