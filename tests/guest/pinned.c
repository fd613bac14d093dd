// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that somebody holds do not move, and nothing that goes through the holder's hands is lost (H1):
 * vmsplice(2) into a pipe holds pages for reading, io_uring's fixed buffers for reading and writing.
 */
#include "lib/mem.h"

#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#define PAGES 96

static atomic_int stop;

/* ----- vmsplice, one thing after the other ----- */

struct kind {
	const char *what;
	int huge, shared;
};

static char *map_kind(const struct kind *k, size_t len, int *fd)
{
	*fd = -1;
	return k->shared ? map_shmem(len, k->huge, fd) : map_anon(len, k->huge);
}

static int pipe_of(int fds[2], size_t pages)
{
	return pipe(fds) || fcntl(fds[0], F_SETPIPE_SZ, (int)(pages * PAGE)) < 0;
}

/*
 * 1. Fill pages (or THPs) on node 0. 2. Splice one page in three into a pipe. 3. Write all anew: the pipe has
 * references, not copies. 4. Move all to node 1: those in the pipe stay. 5. Read the pipe: what was written last.
 * 6. Move all to node 1 again: now they do.
 */
static void try_held(const struct kind *k)
{
	size_t step = k->huge ? HUGE : PAGE, n = k->huge ? 6 : PAGES, len = n * step, held = n / 3,
	       i, wrong = 0;
	struct migration_counts before, c;
	struct lift_counts lift;
	static char buf[PAGE];
	uint64_t seed = rnd();
	int fds[2], fd;
	char *p;

	if (pipe_of(fds, 64))
		fatal("%s: a pipe can be had", k->what);
	alloc_on(0);
	p = map_kind(k, len, &fd);
	fill(p, len, seed);
	alloc_on(-1);
	for (i = 0; i < held; i++) {
		struct iovec v = { p + i * 3 * step + (k->huge ? 5 * PAGE : 0), PAGE };

		if (vmsplice(fds[1], &v, 1, 0) != (ssize_t)PAGE)
			fatal("%s: a page can be spliced", k->what);
	}
	seed = rnd();
	fill(p, len, seed);

	before = migration_counts();
	lift = lift_counts();
	is(move(p, len, step, 1), held, "%s: move_pages tells how many are held", k->what);
	c = migration_since(before);
	lift = lift_since(lift);
	is(c.success, (n - held) * step / PAGE, "%s: the others moved", k->what);
	is(c.fail, held * step / PAGE, "%s: and the held ones failed", k->what);
	for (i = 0; i < n; i++)
		wrong += node_of(p + i * step) != (i % 3 ? 1 : 0);
	is(wrong, 0, "%s: exactly those that are held stayed", k->what);
	is(check(p, len, seed), 0, "%s: no page differs", k->what);
	if (lift_engine()) {
		/* of shmem, none is copied early */
		is(lift.pages, k->shared ? 0 : (n - held) * step / PAGE,
		   "%s: the engine copied those that moved and no other", k->what);
		if (!ok((k->shared ? lift.callback : lift.refs) >= (long long)held,
			"%s: the held ones were left out because of that", k->what))
			lift_tell(lift);
	}
	for (wrong = i = 0; i < held; i++)
		wrong += read(fds[0], buf, PAGE) != (ssize_t)PAGE ||
			 check_page(buf, seed, (i * 3 * step + (k->huge ? 5 * PAGE : 0)) / PAGE) >=
				 0;
	is(wrong, 0, "%s: the pipe has the pages, with what was written to them last", k->what);
	is(move(p, len, step, 1), 0, "%s: released, they can be moved", k->what);
	is(on_node(p, len, 1), len / PAGE, "%s: and are", k->what);
	is(check(p, len, seed), 0, "%s: no page differs then", k->what);
	munmap(p, len);
	close(fds[0]);
	close(fds[1]);
	if (fd >= 0)
		close(fd);
}

/* ----- both at once ----- */

struct race {
	const char *what;
	char *p;
	size_t len, step;
	long rounds; /* that the holder did */
	long wrong;
	int error;
};

/* Splice pages, write them, read the pipe: it must have what was written. */
static void *splicer(void *arg)
{
	struct race *r = arg;
	uint64_t word = 0, got[PAGE / 8];
	size_t n = r->len / PAGE, i, k;
	int fds[2];

	on_cpu(2);
	if (pipe_of(fds, 16)) {
		r->error = errno;
		return NULL;
	}
	while (!atomic_load(&stop)) {
		size_t first = mix(++word) % (n - 16);

		for (i = 0; i < 16; i++) {
			struct iovec v = { r->p + (first + i) * PAGE, PAGE };

			if (vmsplice(fds[1], &v, 1, 0) != (ssize_t)PAGE) {
				r->error = errno;
				return NULL;
			}
		}
		/* time for some of them to be unmapped while they are held */
		usleep(r->rounds % 4 * 300);
		for (i = 0; i < 16; i++) {
			volatile uint64_t *w = (uint64_t *)(r->p + (first + i) * PAGE);

			w[0] = w[511] = word * 1000 + i;
		}
		usleep(r->rounds % 3 * 300);
		for (i = 0; i < 16; i++) {
			if (read(fds[0], got, PAGE) != (ssize_t)PAGE) {
				r->error = errno;
				return NULL;
			}
			k = got[0] != word * 1000 + i || got[511] != word * 1000 + i;
			k += *(volatile uint64_t *)(r->p + (first + i) * PAGE) != word * 1000 + i;
			r->wrong += k != 0;
		}
		r->rounds++;
	}
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

/* A very small io_uring: one read into a fixed buffer at a time. */
struct uring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
};

static int uring_new(struct uring *u)
{
	memset(u, 0, sizeof(*u));
	u->fd = syscall(SYS_io_uring_setup, 4, &u->p);
	if (u->fd < 0)
		return errno;
	u->sq = mmap(NULL, u->p.sq_off.array + u->p.sq_entries * 4, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_SQ_RING);
	u->cq = mmap(NULL, u->p.cq_off.cqes + u->p.cq_entries * sizeof(struct io_uring_cqe),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_CQ_RING);
	u->sqes = mmap(NULL, u->p.sq_entries * sizeof(*u->sqes), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_SQES);
	return u->sq == MAP_FAILED || u->cq == MAP_FAILED || u->sqes == MAP_FAILED ? ENOMEM : 0;
}

static int uring_read_fixed(struct uring *u, int file, char *to, size_t len)
{
	unsigned int *tail = (unsigned int *)(u->sq + u->p.sq_off.tail),
		     *mask = (unsigned int *)(u->sq + u->p.sq_off.ring_mask);
	unsigned int *head = (unsigned int *)(u->cq + u->p.cq_off.head),
		     *cmask = (unsigned int *)(u->cq + u->p.cq_off.ring_mask);
	unsigned int *ctail = (unsigned int *)(u->cq + u->p.cq_off.tail), t = *tail, i = t & *mask;
	struct io_uring_cqe *cqe;
	int res;

	memset(&u->sqes[i], 0, sizeof(*u->sqes));
	u->sqes[i].opcode = IORING_OP_READ_FIXED;
	u->sqes[i].fd = file;
	u->sqes[i].addr = (unsigned long)to;
	u->sqes[i].len = len;
	((unsigned int *)(u->sq + u->p.sq_off.array))[i] = i;
	__atomic_store_n(tail, t + 1, __ATOMIC_RELEASE);
	while (syscall(SYS_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (*head == __atomic_load_n(ctail, __ATOMIC_ACQUIRE))
		return -EIO;
	cqe = (struct io_uring_cqe *)(u->cq + u->p.cq_off.cqes) + (*head & *cmask);
	res = cqe->res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

#define SOURCES 8

/* Pin a part, read a file into it through the pin, compare, unpin. */
static void *reader(void *arg)
{
	struct race *r = arg;
	size_t n = 32, i, pages = r->len / PAGE;
	static char buf[PAGE];
	struct uring u;
	int files[SOURCES], err, f;

	on_cpu(2);
	err = uring_new(&u);
	for (f = 0; !err && f < SOURCES; f++) {
		files[f] = memfd_create("source", 0);
		for (i = 0; i < n; i++) {
			fill_page(buf, 1000 + f, i);
			if (pwrite(files[f], buf, PAGE, i * PAGE) != (ssize_t)PAGE)
				err = EIO;
		}
	}
	while (!err && !atomic_load(&stop)) {
		size_t first = mix(r->rounds) % (pages - n);
		char *p = r->p + first * PAGE;
		struct iovec v = { p, n * PAGE };

		f = r->rounds % SOURCES;
		if (syscall(SYS_io_uring_register, u.fd, IORING_REGISTER_BUFFERS, &v, 1) < 0) {
			err = errno;
			break;
		}
		usleep(r->rounds % 4 * 300);
		i = uring_read_fixed(&u, files[f], p, n * PAGE);
		if (i != n * PAGE)
			err = i;
		for (i = 0; i < n; i += r->rounds % 2 ? 1 : 5)
			r->wrong += check_page(p + i * PAGE, 1000 + f, i) >= 0;
		if (syscall(SYS_io_uring_register, u.fd, IORING_UNREGISTER_BUFFERS, NULL, 0) < 0)
			err = errno;
		for (i = 0; i < n; i++)
			r->wrong += check_page(p + i * PAGE, 1000 + f, i) >= 0;
		r->rounds++;
	}
	r->error = err;
	return NULL;
}

static void try_race(const char *what, const struct kind *k, void *(*holder)(void *),
		     unsigned int moves)
{
	struct race r = { .what = what,
			  .len = k->huge ? 4 * HUGE : 512 * PAGE,
			  .step = k->huge ? HUGE : PAGE };
	struct migration_counts c;
	pthread_t thread;
	unsigned int m;
	long long moved;
	int fd;

	r.p = map_kind(k, r.len, &fd);
	memset(r.p, 0, r.len);
	stop = 0;
	if (pthread_create(&thread, NULL, holder, &r))
		fatal("%s: a thread can be had", what);
	on_cpu(0);
	c = migration_counts();
	for (m = 0; m < moves; m++) {
		move(r.p, r.len, r.step, !(m & 1));
		usleep(500);
	}
	stop = 1;
	pthread_join(thread, NULL);
	c = migration_since(c);
	moved = c.success;
	diag("%s, %s: %ld rounds while %lld pages moved and %lld failed to", what, k->what,
	     r.rounds, moved, c.fail);
	if (r.error == ENOSYS) {
		skip(what, "this kernel has no io_uring");
	} else {
		is(r.error, 0, "%s, %s: no error", what, k->what);
		is(r.wrong, 0, "%s, %s: nothing is lost", what, k->what);
		ok(moved > 0 && r.rounds > 0, "%s, %s: both did something", what, k->what);
	}
	munmap(r.p, r.len);
	if (fd >= 0)
		close(fd);
}

static void test(void)
{
	static const struct kind kinds[] = {
		{ "4 KB", 0, 0 },
		{ "THP", 1, 0 },
		{ "shmem", 0, 1 },
		{ "shmem THP", 1, 1 },
	};
	size_t i;

	lift_begin();
	for (i = 0; i < 4; i++)
		try_held(&kinds[i]);
	for (i = 0; i < 4; i++) {
		try_race("vmsplice", &kinds[i], splicer, rounds(16));
		try_race("io_uring", &kinds[i], reader, rounds(16));
	}
	lift_set(NULL);
}

int main(void)
{
	return tap_main("pinned", 90, test);
}
