// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel counts and returns for a migration is what it always was (H8). A fixed set of jobs, some of
 * which succeed only in part, is done with foliolift off, with each engine; all must count
 * the same. On a kernel without foliolift they are done once. Each is told as "# counts: JOB numbers", and the
 * runner compares those lines of the two kernels.
 */
#include "lib/mem.h"

#include <sys/uio.h>

struct result {
	long rc;
	struct migration_counts c;
};

struct job {
	const char *name;
	void (*work)(struct result *r);
};

static uint64_t seed;

static char *on_0(size_t len, int huge)
{
	char *p;

	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, ++seed);
	alloc_on(-1);
	return p;
}

/* Move, count, check, free. */
static void done(struct result *r, char *p, size_t len, size_t step)
{
	r->c = migration_counts();
	r->rc = move(p, len, step, 1);
	r->c = migration_since(r->c);
	if (check(p, len, seed))
		fatal("no page differs");
	munmap(p, len);
}

static void small_pages(struct result *r)
{
	done(r, on_0(600 * PAGE, 0), 600 * PAGE, PAGE);
}

static void one_page(struct result *r)
{
	done(r, on_0(PAGE, 0), PAGE, PAGE);
}

static void thps(struct result *r)
{
	done(r, on_0(5 * HUGE, 1), 5 * HUGE, HUGE);
}

static void mixed(struct result *r)
{
	size_t i;
	char *p;

	alloc_on(0);
	p = map_anon(6 * HUGE, 0);
	for (i = 0; i < 6; i += 2)
		madvise(p + i * HUGE, HUGE, MADV_HUGEPAGE);
	fill(p, 6 * HUGE, ++seed);
	alloc_on(-1);
	/* every page of everything: the second address of a THP finds it isolated, which ends the list */
	done(r, p, 6 * HUGE, PAGE);
}

/* Every third folio is in a pipe. */
static void held(struct result *r, size_t n, int huge)
{
	size_t step = huge ? HUGE : PAGE, i;
	char *p = on_0(n * step, huge);
	int fds[2];

	if (pipe(fds) || fcntl(fds[0], F_SETPIPE_SZ, 1 << 20) < 0)
		fatal("a pipe can be had");
	for (i = 0; i < n; i += 3) {
		struct iovec v = { p + i * step, PAGE };

		if (vmsplice(fds[1], &v, 1, 0) != (ssize_t)PAGE)
			fatal("a page can be spliced");
	}
	done(r, p, n * step, step);
	close(fds[0]);
	close(fds[1]);
}

static void held_small(struct result *r)
{
	held(r, 120, 0);
}

static void held_thps(struct result *r)
{
	held(r, 6, 1);
}

static void all_held(struct result *r)
{
	size_t i, n = 20;
	char *p = on_0(n * PAGE, 0);
	int fds[2];

	if (pipe(fds) || fcntl(fds[0], F_SETPIPE_SZ, 1 << 20) < 0)
		fatal("a pipe can be had");
	for (i = 0; i < n; i++) {
		struct iovec v = { p + i * PAGE, PAGE };

		if (vmsplice(fds[1], &v, 1, 0) != (ssize_t)PAGE)
			fatal("a page can be spliced");
	}
	done(r, p, n * PAGE, PAGE);
	close(fds[0]);
	close(fds[1]);
}

/* Every tenth is there already, which cuts move_pages' list. */
static void some_there(struct result *r)
{
	char *p = on_0(200 * PAGE, 0);
	size_t i;

	for (i = 0; i < 200; i += 10)
		move(p + i * PAGE, PAGE, PAGE, 1);
	done(r, p, 200 * PAGE, PAGE);
}

/* Half of each second THP is unmapped: those are split, and their parts move. */
static void partial_thps(struct result *r)
{
	char *p = on_0(6 * HUGE, 1);
	size_t i;

	for (i = 0; i < 6; i += 2)
		madvise(p + i * HUGE + HUGE / 2, HUGE / 2, MADV_DONTNEED);
	r->c = migration_counts();
	r->rc = move(p, 6 * HUGE, HUGE, 1);
	r->c = migration_since(r->c);
	for (i = 0; i < 6; i++)
		if (check_from(p + i * HUGE, i % 2 ? HUGE : HUGE / 2, seed, i * 512))
			fatal("no page differs");
	munmap(p, 6 * HUGE);
}

static void locked(struct result *r)
{
	char *p = on_0(100 * PAGE, 0);

	mlock(p, 100 * PAGE);
	done(r, p, 100 * PAGE, PAGE);
}

static void shared_memory(struct result *r)
{
	size_t len = 300 * PAGE;
	char *p;
	int fd;

	alloc_on(0);
	p = map_shmem(len, 0, &fd);
	fill(p, len, ++seed);
	alloc_on(-1);
	done(r, p, len, PAGE);
	close(fd);
}

static void hugetlb(struct result *r)
{
	size_t len = 3 * HUGE;
	char *p;

	put("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3");
	put("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "3");
	alloc_on(0);
	p = map_at(len, HUGE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	fill(p, len, ++seed);
	alloc_on(-1);
	done(r, p, len, HUGE);
	put("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "0");
	put("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "0");
}

static void with_mbind(struct result *r)
{
	size_t len = 300 * PAGE;
	char *p = on_0(len, 0);
	unsigned long mask = 2;

	r->c = migration_counts();
	r->rc = syscall(SYS_mbind, p, len, MPOL_BIND, &mask, 64ul, MPOL_MF_MOVE | MPOL_MF_STRICT) ?
			-errno :
			0;
	r->c = migration_since(r->c);
	if (check(p, len, seed) || on_node(p, len, 1) != 300)
		fatal("no page differs");
	munmap(p, len);
}

/*
 * A whole process. How many pages it has is not for us to say; but all of them are on node 0, and each that can
 * be moved is.
 */
static void with_migrate_pages(struct result *r)
{
	size_t len = 256 * PAGE, thp = 2 * HUGE;
	unsigned long from = 1, to = 2;
	char *p = on_0(len, 0), *q = on_0(thp, 1);
	int fds[2];
	pid_t pid;
	char c;

	if (pipe(fds))
		fatal("a pipe can be had");
	/* the child has the memory for itself once the parent has let go of it */
	pid = fork();
	if (!pid) {
		if (read(fds[0], &c, 1) != 1)
			_exit(1);
		_exit(check(p, len, seed - 1) || check(q, thp, seed));
	}
	munmap(p, len);
	munmap(q, thp);
	r->c = migration_counts();
	r->rc = syscall(SYS_migrate_pages, pid, 64ul, &from, &to) < 0 ? -errno : 0;
	r->c = migration_since(r->c);
	if (on_node_of(pid, p, len, 1) != 256 || on_node_of(pid, q, thp, 1) != 1024)
		fatal("migrate_pages moves a process");
	/* the process has some pages beside those: stack, heap, what the loader wrote */
	r->c.success = r->c.success >= 256 + 1024 && r->c.success < 256 + 1024 + 200 ? 256 + 1024 :
										       r->c.success;
	if (write(fds[1], "x", 1) != 1)
		fatal("a pipe can be written");
	waitpid(pid, &fds[0], 0);
	if (fds[0])
		fatal("no page differs");
	close(fds[1]);
}

static void nobody_home(struct result *r)
{
	char *p = map_anon(50 * PAGE, 0);

	r->c = migration_counts();
	r->rc = move(p, 50 * PAGE, PAGE, 1);
	r->c = migration_since(r->c);
	munmap(p, 50 * PAGE);
}

static const struct job jobs[] = {
	{ "small-pages", small_pages },
	{ "one-page", one_page },
	{ "thps", thps },
	{ "mixed-sizes", mixed },
	{ "one-in-three-held", held_small },
	{ "one-thp-in-three-held", held_thps },
	{ "all-held", all_held },
	{ "one-in-ten-there", some_there },
	{ "partially-unmapped-thps", partial_thps },
	{ "locked", locked },
	{ "shared-memory", shared_memory },
	{ "hugetlb", hugetlb },
	{ "mbind", with_mbind },
	{ "migrate_pages", with_migrate_pages },
	{ "not-there", nobody_home },
};

#define JOBS (sizeof(jobs) / sizeof(*jobs))

static void run_all(struct result *r)
{
	size_t i;

	for (i = 0; i < JOBS; i++) {
		memset(&r[i], 0, sizeof(r[i]));
		jobs[i].work(&r[i]);
	}
}

static int same(const struct result *a, const struct result *b)
{
	return a->rc == b->rc && !memcmp(&a->c, &b->c, sizeof(a->c));
}

static void tell(const char *head, const char *name, const struct result *r)
{
	diag("%s %s returned %ld pgmigrate_success %lld pgmigrate_fail %lld thp_migration_success %lld"
	     " thp_migration_fail %lld thp_migration_split %lld",
	     head, name, r->rc, r->c.success, r->c.fail, r->c.thp_success, r->c.thp_fail,
	     r->c.thp_split);
}

static void test(void)
{
	static const char *const engines[] = { "cpu", "mt", "test" };
	static struct result off[JOBS], on[JOBS];
	size_t i, e;

	lift_begin();
	seed = rnd();
	run_all(off);
	for (i = 0; i < JOBS; i++)
		tell("counts:", jobs[i].name, &off[i]);
	is(off[0].c.success, 600, "600 pages count as 600");
	is(off[2].c.thp_success, 5, "5 THPs count as 5");
	is(off[2].c.success, 5 * 512, "and as their pages");
	is(off[4].rc, 40, "40 of 120 are held");
	for (e = 0; lift_present() && e < sizeof(engines) / sizeof(*engines); e++) {
		lift_set(engines[e]);
		run_all(on);
		for (i = 0; i < JOBS; i++) {
			if (ok(same(&off[i], &on[i]), "engine %s: %s counts as with foliolift off",
			       engines[e], jobs[i].name))
				continue;
			tell("off:", jobs[i].name, &off[i]);
			tell("on: ", jobs[i].name, &on[i]);
		}
	}
	lift_set(NULL);
}

int main(void)
{
	return tap_main("counters", 90, test);
}
