// SPDX-License-Identifier: GPL-2.0
/* Files in memory keep their contents, as mapped and as read, small pages and huge: memfd, and a file of a tmpfs. */
#include "lib/mem.h"

static void try(const char *what, int fd, size_t len, int huge, int twice)
{
	struct area a = {
		.what = what,
		.len = len,
		.step = huge ? HUGE : PAGE,
		.huge = huge,
		/* it could be pinned for writing between an early copy and the move (memfd_pin_folios) */
		.copied = 0,
		.fd = fd,
	};
	char *second = NULL;

	if (ftruncate(fd, len))
		fatal("%s: %zu bytes can be had", what, len);
	a.p = map_at(len, HUGE, MAP_SHARED, fd);
	madvise(a.p, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	alloc_on(0);
	area_fill(&a);
	alloc_on(-1);
	if (twice) {
		second = map_at(len, HUGE, MAP_SHARED, fd);
		a.flags = MPOL_MF_MOVE_ALL;
		check(second, len, a.seed);
	}
	area_to_and_fro(&a, 1);
	if (twice) {
		is(check(second, len, a.seed), 0, "%s: the other mapping agrees", what);
		munmap(second, len);
	}
	munmap(a.p, len);
	is(check_fd(fd, len, a.seed), 0, "%s: and so does the file when nothing is mapped", what);
	close(fd);
}

static void test(void)
{
	int fd;

	lift_begin();
	try("memfd", memfd_create("one", 0), 700 * PAGE, 0, 0);
	try("memfd mapped twice", memfd_create("two", 0), 300 * PAGE, 0, 1);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0)
		fatal("a file can be made in a tmpfs");
	try("tmpfs", fd, 300 * PAGE, 0, 0);
	try("memfd in THPs", memfd_create("huge", 0), 5 * HUGE, 1, 0);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("contents_shmem", 60, test);
}
