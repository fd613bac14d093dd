// SPDX-License-Identifier: GPL-2.0
/*
 * A file's pages move while they are written and read with system calls, which take a reference and then wait for
 * the folio's lock: such a folio may have been copied already when its move fails for the reference, and is copied
 * anew when it is tried again. A mark that outlives the failure would lose what was written in between (H1).
 */
#include "lib/disk.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 256

static atomic_int stop;

struct file {
	int fd;
	pthread_t thread;
	unsigned long writes, lost;
	int error;
};

static void *writer(void *arg)
{
	struct file *f = arg;
	static uint64_t expect[PAGES];
	size_t i;

	on_cpu(2);
	memset(expect, 0, sizeof(expect));
	while (!atomic_load(&stop)) {
		for (i = 0; i < PAGES; i++) {
			uint64_t got;

			if (pread(f->fd, &got, 8, i * PAGE + 8) != 8)
				f->error = errno;
			f->lost += got != expect[i];
			expect[i] = got + 1;
			if (pwrite(f->fd, &expect[i], 8, i * PAGE + 8) != 8)
				f->error = errno;
			f->writes++;
		}
	}
	return NULL;
}

static void try(const char *what, int fd, unsigned int moves)
{
	struct file f = { .fd = fd };
	struct migration_counts c;
	unsigned int m;
	char *p;
	size_t i;

	if (ftruncate(fd, PAGES * PAGE))
		fatal("%s: a file can be had", what);
	p = map_at(PAGES * PAGE, PAGE, MAP_SHARED, fd);
	for (i = 0; i < PAGES; i++)
		*(uint64_t *)(p + i * PAGE) = i ^ tap_seed;
	stop = 0;
	if (pthread_create(&f.thread, NULL, writer, &f))
		fatal("a thread can be had");
	on_cpu(0);
	c = migration_counts();
	for (m = 0; m < moves; m++) {
		for (i = 0; i < PAGES; i++) /* mapped, or move_pages does not find it */
			if (*(volatile uint64_t *)(p + i * PAGE) != (i ^ tap_seed))
				f.lost++;
		move_status(0, p, PAGES * PAGE, PAGE, !(m & 1), MPOL_MF_MOVE_ALL, NULL);
	}
	c = migration_since(c);
	stop = 1;
	pthread_join(f.thread, NULL);
	diag("%s: %lu writes while %lld pages moved and %lld failed to", what, f.writes, c.success,
	     c.fail);
	is(f.error, 0, "%s: no error", what);
	is(f.lost, 0, "%s: no write is lost", what);
	ok(c.success > 0 && f.writes > 0, "%s: both did something", what);
	munmap(p, PAGES * PAGE);
	close(fd);
}

static void test(void)
{
	struct disk d;
	char path[96];

	lift_begin();
	try("memfd", memfd_create("file", 0), rounds(60));
	disk_new(&d, 16 * MB);
	disk_format(&d, "ext4");
	snprintf(path, sizeof(path), "%s/file", d.dir);
	try("ext4", open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), rounds(40));
	disk_end(&d);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("writers_file", 60, test);
}
