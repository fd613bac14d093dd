// SPDX-License-Identifier: GPL-2.0
/*
 * What is known of a page besides its contents moves with it (H10): dirty, uptodate, swap-backed, active and idle
 * of the frame; soft-dirty and userfaultfd's write protection of the entry; read-only stays read-only.
 */
#include "lib/mem.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#define IDLE "/sys/kernel/mm/page_idle/bitmap"

/* Flags of a frame that a migration keeps. It may become dirty: what the entry knows is then told to the frame. */
static const uint64_t kept = 1ull << KPF_UPTODATE | 1ull << KPF_DIRTY | 1ull << KPF_MMAP |
			     1ull << KPF_ANON | 1ull << KPF_SWAPBACKED | 1ull << KPF_THP |
			     1ull << KPF_UNEVICTABLE;

/* ----- flags of the frame ----- */

/* Every @clean-th page was only read, and must stay clean; 0: none. */
static void try_flags(const char *what, char *p, size_t len, size_t step, size_t clean)
{
	const uint64_t dirty = 1ull << KPF_DIRTY;
	size_t n = len / step, i, wrong = 0;
	uint64_t *before = calloc(n, 8), after, diff;
	int node;

	if (!before)
		fatal("memory can be had");
	for (i = 0; i < n; i++)
		before[i] = page_flags(p + i * step);
	for (node = 1; node >= 0; node--) {
		is(move(p, len, step, node), 0, "%s: move_pages to node %d", what, node);
		for (wrong = i = 0; i < n; i++) {
			after = page_flags(p + i * step);
			diff = (before[i] ^ after) & kept;
			if (after & dirty && (!clean || i % clean))
				diff &= ~dirty;
			if (diff && wrong++ < 3)
				diag("page %zu: flags %" PRIx64 " before, %" PRIx64 " after", i,
				     before[i] & kept, after & kept);
		}
		is(wrong, 0, "%s: the flags of the frames are the same", what);
	}
	free(before);
}

static void test_flags(void)
{
	size_t len = 200 * PAGE, i;
	char *p;
	int fd;

	alloc_on(0);
	p = map_anon(len, 0);
	fill(p, len, 1);
	try_flags("anonymous", p, len, PAGE, 0);
	munmap(p, len);

	p = map_anon(3 * HUGE, 1);
	fill(p, 3 * HUGE, 1);
	try_flags("THP", p, 3 * HUGE, HUGE, 0);
	munmap(p, 3 * HUGE);

	/* half written, half only read (which of a hole in memory gives clean, uptodate pages) */
	p = map_shmem(len, 0, &fd);
	for (i = 0; i < len / PAGE; i++)
		if (i % 2)
			fill_page(p + i * PAGE, 1, i);
		else
			(void)*(volatile char *)(p + i * PAGE);
	try_flags("shmem, half of it clean", p, len, PAGE, 2);
	alloc_on(-1);
	munmap(p, len);
	close(fd);
}

/* ----- idle: neither frame nor entry forgets that it has not been used ----- */

static int idle_of(int fd, uint64_t pfn)
{
	uint64_t word = 0;

	if (pread(fd, &word, 8, pfn / 64 * 8) != 8)
		return -1;
	return word >> pfn % 64 & 1;
}

static void test_idle(int huge)
{
	const char *what = huge ? "idle THP" : "idle";
	size_t step = huge ? HUGE : PAGE, n = huge ? 6 : 200, len = n * step, i, wrong = 0;
	int fd = open(IDLE, O_RDWR | O_CLOEXEC);
	char *p;

	if (fd < 0) {
		skip(what, "this kernel does not track idle pages");
		return;
	}
	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, 1);
	alloc_on(-1);
	move(p, len, step, 0); /* moves nothing, but brings all of them to the LRU lists */
	for (i = 0; i < n; i++) {
		uint64_t pfn = pfn_of(p + i * step), word = 1ull << pfn % 64;

		if (pwrite(fd, &word, 8, pfn / 64 * 8) != 8)
			fatal("a page can be marked idle");
	}
	/* that does not flush the TLB, without which a CPU has no reason to say that it uses a page */
	mprotect(p, len, PROT_READ);
	mprotect(p, len, PROT_READ | PROT_WRITE);
	for (i = 0; i < n; i += 3)
		*(volatile char *)(p + i * step) = 1;
	is(move(p, len, step, 1), 0, "%s: they move", what);
	for (i = 0; i < n; i++)
		wrong += idle_of(fd, pfn_of(p + i * step)) != (i % 3 != 0);
	is(wrong, 0, "%s: those that were not touched are still idle, those that were are not",
	   what);
	munmap(p, len);
	close(fd);
}

/* ----- soft-dirty ----- */

static void test_soft_dirty(int huge)
{
	const char *what = huge ? "soft-dirty THP" : "soft-dirty";
	size_t step = huge ? HUGE : PAGE, n = huge ? 6 : 200, len = n * step, i, wrong = 0;
	char *p;

	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, 1);
	alloc_on(-1);
	if (!(pagemap(p) & PM_SOFT_DIRTY)) {
		skip(what, "this kernel does not track it");
		munmap(p, len);
		return;
	}
	put("/proc/self/clear_refs", "4");
	for (i = 0; i < n; i += 3)
		*(volatile char *)(p + i * step) = 1;
	for (i = 0; i < n; i++)
		wrong += !(pagemap(p + i * step) & PM_SOFT_DIRTY) != (i % 3 != 0);
	is(wrong, 0, "%s: those that were written, before", what);
	is(move(p, len, step, 1), 0, "%s: they move", what);
	is(on_node(p, len, 1), len / PAGE, "%s: all of them", what);
	/* Of THPs the kernel may say too much: remove_migration_pmd() makes a dirty entry soft-dirty, too. */
	for (wrong = i = 0; i < n; i++)
		if (!huge || i % 3 == 0)
			wrong += !(pagemap(p + i * step) & PM_SOFT_DIRTY) != (i % 3 != 0);
	is(wrong, 0, "%s: and after", what);
	munmap(p, len);
}

/* ----- userfaultfd write protection ----- */

struct uffd {
	int fd;
	char *p;
	size_t len, step;
	atomic_int done;
};

static void *write_all(void *arg)
{
	struct uffd *u = arg;
	size_t i;

	for (i = 0; i < u->len; i += u->step)
		*(volatile char *)(u->p + i) = 1;
	atomic_store(&u->done, 1);
	return NULL;
}

static int uffd_new(struct uffd *u, char *p, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register reg = { .range = { (unsigned long)p, len },
				       .mode = UFFDIO_REGISTER_MODE_WP };

	u->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	u->p = p;
	u->len = len;
	u->done = 0;
	return u->fd < 0 || ioctl(u->fd, UFFDIO_API, &api) || ioctl(u->fd, UFFDIO_REGISTER, &reg);
}

static int uffd_protect(struct uffd *u, char *p, size_t len, int on)
{
	struct uffdio_writeprotect wp = {
		.range = { (unsigned long)p, len },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(u->fd, UFFDIO_WRITEPROTECT, &wp);
}

static void test_uffd(int huge)
{
	const char *what = huge ? "write-protected THP" : "write-protected";
	size_t step = huge ? HUGE : PAGE, n = huge ? 6 : 100, len = n * step, i, wrong = 0,
	       events = 0;
	struct uffd u;
	pthread_t thread;
	char *p;

	alloc_on(0);
	p = map_anon(len, huge);
	fill(p, len, 1);
	alloc_on(-1);
	if (uffd_new(&u, p, len)) {
		skip(what, "this kernel has no userfaultfd write protection (%s)", strerror(errno));
		munmap(p, len);
		return;
	}
	for (i = 0; i < n; i += 2)
		if (uffd_protect(&u, p + i * step, step, 1))
			fatal("%s: memory can be protected", what);
	is(move(p, len, step, 1), 0, "%s: they move", what);
	is(on_node(p, len, 1), len / PAGE, "%s: all of them", what);
	for (i = 0; i < n; i++)
		wrong += !(pagemap(p + i * step) & PM_UFFD_WP) != (i % 2 != 0);
	is(wrong, 0, "%s: every second one is protected, as before", what);
	if (huge)
		is(huge_mapped(p, len), n, "%s: still mapped by 2 MB entries", what);

	u.step = step;
	if (pthread_create(&thread, NULL, write_all, &u))
		fatal("a thread can be had");
	while (!atomic_load(&u.done)) {
		struct pollfd pfd = { .fd = u.fd, .events = POLLIN };
		struct uffd_msg msg;

		if (poll(&pfd, 1, 20) <= 0 || read(u.fd, &msg, sizeof(msg)) != sizeof(msg) ||
		    msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		events++;
		uffd_protect(&u, (char *)(msg.arg.pagefault.address & -step), step, 0);
	}
	pthread_join(thread, NULL);
	is(events, n / 2, "%s: and as many writes are caught", what);
	munmap(p, len);
	close(u.fd);
}

/* ----- entries that are not writable ----- */

static volatile sig_atomic_t faults;
static sigjmp_buf fault_jump;

static void on_fault(int sig)
{
	(void)sig;
	faults++;
	siglongjmp(fault_jump, 1);
}

static void test_read_only(void)
{
	volatile size_t i, caught = 0;
	size_t len = 100 * PAGE;
	char *p;

	alloc_on(0);
	p = map_anon(len, 0);
	fill(p, len, 7);
	alloc_on(-1);
	mprotect(p, len, PROT_READ);
	is(move(p, len, PAGE, 1), 0, "read-only: they move");
	is(check(p, len, 7), 0, "read-only: no page differs");
	signal(SIGSEGV, on_fault);
	for (i = 0; i < len / PAGE; i++) {
		if (!sigsetjmp(fault_jump, 1))
			((volatile char *)p)[i * PAGE] = 1;
		else
			caught++;
	}
	signal(SIGSEGV, SIG_DFL);
	is(caught, len / PAGE, "read-only: no page can be written after");
	is(check(p, len, 7), 0, "read-only: nor was");
	munmap(p, len);
}

static void test(void)
{
	int huge;

	lift_begin();
	test_flags();
	for (huge = 0; huge < 2; huge++) {
		test_idle(huge);
		test_soft_dirty(huge);
		test_uffd(huge);
	}
	test_read_only();
	lift_set(NULL);
}

int main(void)
{
	return tap_main("page_state", 60, test);
}
