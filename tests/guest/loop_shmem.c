// SPDX-License-Identifier: GPL-2.0
/*
 * Scenario 1: a loop device over a file in memory, writes through it (by page cache and file system, and O_DIRECT)
 * while compaction runs and the file's own pages are moved to and fro. A migration that waits for one folio with
 * another one locked deadlocks here (H7): the loop's worker needs the lock of a folio of the lower file to end the
 * writeback that the migration waits for.
 */
#include "lib/disk.h"

#include <pthread.h>
#include <stdatomic.h>

#define FILES 3
#define LEN (3 * MB)

static struct disk disk;
static atomic_int stop;
static atomic_ulong compactions, moves;

static void *compact(void *arg)
{
	(void)arg;
	on_cpu(1);
	while (!atomic_load(&stop)) {
		write_file("/proc/sys/vm/compact_memory", "1");
		atomic_fetch_add(&compactions, 1);
		usleep(2000);
	}
	return NULL;
}

/* The backing file, mapped, and moved page by page */
static void *mover(void *arg)
{
	char *p = arg;
	int node = 0;

	on_cpu(2);
	while (!atomic_load(&stop)) {
		node = !node;
		move_status(0, p, 16 * MB, PAGE, node, MPOL_MF_MOVE_ALL, NULL);
		atomic_fetch_add(&moves, 1);
	}
	return NULL;
}

static void name_of(char *buf, size_t size, int i)
{
	snprintf(buf, size, "%s/file%d", disk.dir, i);
}

static int write_one(int i, uint64_t seed, int direct)
{
	char name[96],
		*buf = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, err = 0;

	name_of(name, sizeof(name), i);
	fd = open(name, O_RDWR | O_CREAT | (direct ? O_DIRECT : 0), 0600);
	fill(buf, LEN, seed);
	if (fd < 0 || pwrite(fd, buf, LEN, 0) != (ssize_t)LEN || fsync(fd))
		err = errno;
	if (fd >= 0)
		close(fd);
	munmap(buf, LEN);
	return err;
}

static size_t read_one(int i, uint64_t seed)
{
	char name[96];
	size_t bad;
	int fd;

	name_of(name, sizeof(name), i);
	fd = open(name, O_RDONLY);
	bad = check_fd(fd, LEN, seed);
	close(fd);
	return bad;
}

static void test(void)
{
	uint64_t seed[FILES], base = rnd();
	unsigned int round, bad = 0, errors = 0;
	pthread_t threads[2];
	char *lower;
	int i;

	lift_begin();
	disk_new(&disk, 24 * MB);
	lower = map_at(16 * MB, PAGE, MAP_SHARED, disk.backing);
	disk_format(&disk, "ext4");
	for (i = 0; i < (int)(16 * MB / PAGE); i++)
		(void)((volatile char *)lower)[i * PAGE];
	if (pthread_create(&threads[0], NULL, compact, NULL) ||
	    pthread_create(&threads[1], NULL, mover, lower))
		fatal("threads can be had");
	on_cpu(0);
	for (round = 0; round < rounds(8); round++) {
		for (i = 0; i < FILES; i++) {
			seed[i] = base + round * FILES + i;
			errors += write_one(i, seed[i], i == 2) != 0;
		}
		/* from the device again, not from the page cache */
		write_file("/proc/sys/vm/drop_caches", "1");
		for (i = 0; i < FILES; i++)
			bad += read_one(i, seed[i]);
	}
	atomic_store(&stop, 1);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	diag("%lu compactions, %lu times the lower file moved", atomic_load(&compactions),
	     atomic_load(&moves));
	is(errors, 0, "every write works");
	is(bad, 0, "no page differs");
	ok(atomic_load(&compactions) && atomic_load(&moves), "compaction and moves went on");

	/* and the disk has it */
	umount(disk.dir);
	disk_mount(&disk, "ext4");
	for (bad = i = 0; i < FILES; i++)
		bad += read_one(i, seed[i]);
	is(bad, 0, "nor after a new mount");
	munmap(lower, 16 * MB);
	disk_end(&disk);
	lift_set(NULL);
}

int main(void)
{
	return tap_main("loop_shmem", 90, test);
}
