// SPDX-License-Identifier: GPL-2.0
/*
 * Page cache of files on a disk keeps its contents when it is moved: as mapped, as read through a second
 * descriptor, and as it reaches the disk. Folios with buffer heads are left to the move step (their callback
 * has to look at the buffers first), folios that were only read have none and are copied with the batch.
 * Dirty FAT files under mbind(MPOL_MF_MOVE) have deadlocked batched migration before (H7).
 */
#include "lib/disk.h"

#define LEN (400 * PAGE)

static char path[96];

static int open_file(int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		fatal("%s can be opened", path);
	return fd;
}

static void write_all(int fd, uint64_t seed)
{
	static char buf[PAGE];
	size_t i;

	for (i = 0; i < LEN / PAGE; i++) {
		fill_page(buf, seed, i);
		if (pwrite(fd, buf, PAGE, i * PAGE) != (ssize_t)PAGE)
			fatal("the file can be written");
	}
}

/* Written with write(2), and dirty: buffers on every folio. */
static void test_written(struct area *a)
{
	struct lift_counts before;
	int fd = open_file(O_RDWR | O_CREAT | O_TRUNC);

	alloc_on(0);
	a->seed = rnd();
	write_all(fd, a->seed);
	alloc_on(-1);
	a->fd = open_file(O_RDONLY);
	a->p = map_at(LEN, PAGE, MAP_SHARED, fd);
	check(a->p, LEN, a->seed); /* maps it */
	is(on_node(a->p, LEN, 0), LEN / PAGE, "%s: all pages begin on node 0", a->what);
	a->copied = 0;
	before = lift_counts();
	area_move(a, 1);
	if (lift_engine())
		is(lift_since(before).callback, LEN / PAGE,
		   "%s: folios with buffers left to their callback", a->what);
	area_fill(a); /* dirty through the mapping now */
	area_move(a, 0);
	area_fill(a);
	if (fsync(fd))
		fatal("the file can be written back");
	area_move(a, 1);
	close(fd);
	close(a->fd);
	munmap(a->p, LEN);
}

/* Read from the disk after a fresh mount: no buffers. */
static void test_read(struct area *a, int flags, int buffers)
{
	int fd = open_file(O_RDWR);

	a->fd = open_file(O_RDONLY);
	alloc_on(0);
	a->p = map_at(LEN, PAGE, flags, fd);
	is(check(a->p, LEN, a->seed), 0, "%s: the disk has what was written", a->what);
	alloc_on(-1);
	is(on_node(a->p, LEN, 0), LEN / PAGE, "%s: all pages begin on node 0", a->what);
	a->copied = buffers ? -1 : (long)(LEN / PAGE);
	area_move(a, 1);
	area_move(a, 0);
	close(fd);
	close(a->fd);
	munmap(a->p, LEN);
}

/* mbind(MPOL_MF_MOVE) over a dirty file, while another process keeps it dirty with write(2) and fsync(2). */
static void test_mbind(const char *what)
{
	int fd = open_file(O_RDWR), i;
	uint64_t seed = rnd();
	unsigned long mask;
	size_t len = LEN;
	pid_t writer;
	char *p;

	write_all(fd, seed);
	p = map_at(len, PAGE, MAP_SHARED, fd);
	check(p, len, seed);
	writer = fork();
	if (!writer) {
		for (;;) {
			write_all(fd, seed);
			fsync(fd);
		}
	}
	for (i = 0; i < (int)rounds(10); i++) {
		mask = 1ul << (i & 1);
		if (syscall(SYS_mbind, p, len, MPOL_BIND, &mask, 64ul, MPOL_MF_MOVE) &&
		    errno != EIO)
			break;
	}
	is(i, rounds(10), "%s: mbind moves a file while it is written", what);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	is(check(p, len, seed), 0, "%s: no page differs", what);
	is(check_fd(fd, len, seed), 0, "%s: nor when read", what);
	munmap(p, len);
	close(fd);
}

static void try(const char *type)
{
	struct area a = { .what = type, .len = LEN, .step = PAGE };
	char what[3][40];
	struct disk d;

	if (!file_system(type)) {
		skip(type, "this kernel has no such file system");
		return;
	}
	disk_new(&d, 32 * MB);
	disk_format(&d, type);
	snprintf(path, sizeof(path), "%s/file", d.dir);

	snprintf(what[0], sizeof(what[0]), "%s, written", type);
	a.what = what[0];
	test_written(&a);

	snprintf(what[1], sizeof(what[1]), "%s, read", type);
	a.what = what[1];
	umount(d.dir);
	disk_mount(&d, type);
	test_read(&a, MAP_SHARED, 0);

	snprintf(what[2], sizeof(what[2]), "%s, read, private mapping", type);
	a.what = what[2];
	umount(d.dir);
	disk_mount(&d, type);
	test_read(&a, MAP_PRIVATE, 0);
	test_mbind(type);
	disk_end(&d);
}

static void test(void)
{
	lift_begin();
	try("ext4");
	try("vfat");
	lift_set(NULL);
}

int main(void)
{
	return tap_main("contents_file", 90, test);
}
