/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of a given kind on a given node, with a pattern in each page, and ways to move and to look at it. */
#ifndef FL_MEM_H
#define FL_MEM_H

#include "sys.h"

#include <linux/mempolicy.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define PAGE 4096ul
#define HUGE (2ul << 20)
#define KB (1ul << 10)
#define MB (1ul << 20)

/* ----- allocation ----- */

/* Whatever this thread allocates from now on comes from @node; -1: wherever. */
static inline void alloc_on(int node)
{
	unsigned long mask = 1ul << (node < 0 ? 0 : node);

	if (syscall(SYS_set_mempolicy, node < 0 ? MPOL_DEFAULT : MPOL_BIND, node < 0 ? NULL : &mask,
		    node < 0 ? 0 : 64ul))
		fatal("the memory policy can be set to node %d", node);
}

static inline char *map_at(size_t len, size_t align, int flags, int fd)
{
	char *room, *p;

	room = mmap(NULL, len + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (room == MAP_FAILED)
		fatal("%zu bytes of address space can be had", len + align);
	p = (char *)(((unsigned long)room + align - 1) & -align);
	if (mmap(p, len, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
		fatal("%zu bytes can be mapped", len);
	return p;
}

/* Anonymous memory, not yet there: in THPs if @huge, otherwise certainly not. Aligned to 2 MB. */
static inline char *map_anon(size_t len, int huge)
{
	char *p = map_at(len, HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(p, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return p;
}

/* A memory file of @len bytes; *@fd is its descriptor. */
static inline char *map_shmem(size_t len, int huge, int *fd)
{
	char *p;

	*fd = memfd_create("foliolift-test", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, len))
		fatal("a memfd can be had");
	p = map_at(len, HUGE, MAP_SHARED, *fd);
	madvise(p, len, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	return p;
}

/* ----- patterns: each page of each fill is unlike every other ----- */

static inline void fill_page(void *page, uint64_t seed, size_t index)
{
	uint64_t x = mix(seed ^ mix(index)), *w = page;
	size_t i;

	for (i = 0; i < PAGE / 8; i++, x += 0xd1b54a32d192ed03ull)
		w[i] = x ^ (x >> 29);
}

/* The first word that differs, or -1 */
static inline int check_page(const void *page, uint64_t seed, size_t index)
{
	uint64_t x = mix(seed ^ mix(index));
	const volatile uint64_t *w = page;
	size_t i;

	for (i = 0; i < PAGE / 8; i++, x += 0xd1b54a32d192ed03ull)
		if (w[i] != (x ^ (x >> 29)))
			return i;
	return -1;
}

static inline void fill(char *p, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len / PAGE; i++)
		fill_page(p + i * PAGE, seed, i);
}

/* Pages with a wrong word; the first few are told. @first is the index of the page at @p. */
static inline size_t check_from(const char *p, size_t len, uint64_t seed, size_t first)
{
	size_t i, bad = 0;

	for (i = 0; i < len / PAGE; i++) {
		const uint64_t *w = (const uint64_t *)(p + i * PAGE);
		int k = check_page(w, seed, first + i);

		if (k < 0)
			continue;
		if (bad++ < 4)
			diag("page %zu: word %d is %016" PRIx64 ", all of it %s", first + i, k,
			     w[k], w[0] || w[1] || w[511] ? "something else" : "0");
	}
	return bad;
}

static inline size_t check(const char *p, size_t len, uint64_t seed)
{
	return check_from(p, len, seed, 0);
}

/* The same, through read(2) of @fd */
static inline size_t check_fd(int fd, size_t len, uint64_t seed)
{
	static char buf[64 * PAGE];
	size_t at = 0, bad = 0;

	while (at < len) {
		size_t want = len - at < sizeof(buf) ? len - at : sizeof(buf);
		ssize_t n = pread(fd, buf, want, at);

		if (n <= 0 || n % PAGE) {
			diag("read of %zu bytes at %zu gave %zd", want, at, n);
			return bad + (len - at) / PAGE;
		}
		bad += check_from(buf, n, seed, at / PAGE);
		at += n;
	}
	return bad;
}

/* ----- moving ----- */

/*
 * move_pages(2) of one address in each @step bytes: the value, or -errno. Only one address of a large folio
 * should be given, since the second finds it isolated and that ends the batch.
 */
static inline long move_status(pid_t pid, char *p, size_t len, size_t step, int node, int flags,
			       int *status)
{
	size_t n = len / step, i;
	void **pages = malloc(n * sizeof(*pages));
	int *nodes = malloc(n * sizeof(*nodes)), *own = malloc(n * sizeof(*own));
	long rc;

	if (!pages || !nodes || !own)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		pages[i] = p + i * step;
		nodes[i] = node;
	}
	rc = syscall(SYS_move_pages, pid, n, pages, node < 0 ? NULL : nodes, status ? status : own,
		     flags);
	rc = rc < 0 ? -errno : rc;
	free(pages);
	free(nodes);
	free(own);
	return rc;
}

static inline long move(char *p, size_t len, size_t step, int node)
{
	return move_status(0, p, len, step, node, MPOL_MF_MOVE, NULL);
}

/* How many of the base pages are on @node? */
static inline size_t on_node_of(pid_t pid, char *p, size_t len, int node)
{
	size_t n = len / PAGE, i, found = 0;
	int *status = malloc(n * sizeof(*status));

	if (status && !move_status(pid, p, len, PAGE, -1, 0, status))
		for (i = 0; i < n; i++)
			found += status[i] == node;
	free(status);
	return found;
}

static inline size_t on_node(char *p, size_t len, int node)
{
	return on_node_of(0, p, len, node);
}

/* The node of the page at @p, or a negative errno */
static inline int node_of(const void *p)
{
	int status = -EINVAL;
	long rc = move_status(0, (char *)p, PAGE, PAGE, -1, 0, &status);

	return rc ? (int)rc : status;
}

/* ----- page tables and page frames ----- */

#define PM_SOFT_DIRTY (1ull << 55)
#define PM_EXCLUSIVE (1ull << 56)
#define PM_UFFD_WP (1ull << 57)
#define PM_FILE (1ull << 61)
#define PM_SWAP (1ull << 62)
#define PM_PRESENT (1ull << 63)

static inline uint64_t pagemap(const void *p)
{
	static int fd = -1;
	uint64_t v = 0;

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (pread(fd, &v, 8, (unsigned long)p / PAGE * 8) != 8)
		return 0;
	return v;
}

/* A page that somebody else, say compaction, migrates at the moment is waited for: its swap entry has a high type. */
static inline uint64_t pfn_of(const void *p)
{
	uint64_t v = pagemap(p);

	while ((v & (PM_PRESENT | PM_SWAP)) == PM_SWAP && (v & 31) >= 16) {
		usleep(100);
		v = pagemap(p);
	}
	return v & PM_PRESENT ? v & ((1ull << 55) - 1) : 0;
}

enum {
	KPF_REFERENCED = 2,
	KPF_UPTODATE = 3,
	KPF_DIRTY = 4,
	KPF_LRU = 5,
	KPF_ACTIVE = 6,
	KPF_MMAP = 11,
	KPF_ANON = 12,
	KPF_SWAPBACKED = 14,
	KPF_COMPOUND_HEAD = 15,
	KPF_COMPOUND_TAIL = 16,
	KPF_HUGE = 17,
	KPF_UNEVICTABLE = 18,
	KPF_KSM = 21,
	KPF_THP = 22,
	KPF_IDLE = 25,
	KPF_MLOCKED = 33,
};

static inline uint64_t page_flags(const void *p)
{
	static int fd = -1;
	uint64_t v = 0, pfn = pfn_of(p);

	if (fd < 0)
		fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	if (!pfn || pread(fd, &v, 8, pfn * 8) != 8)
		return 0;
	return v;
}

static inline int page_is(const void *p, int flag)
{
	return page_flags(p) >> flag & 1;
}

/* Base pages in the folio that @p is the first page of: 1 for a small one. */
static inline size_t folio_pages(const char *p, size_t most)
{
	size_t n = 1;

	if (!page_is(p, KPF_COMPOUND_HEAD))
		return 1;
	while (n < most && page_is(p + n * PAGE, KPF_COMPOUND_TAIL) &&
	       pfn_of(p + n * PAGE) == pfn_of(p) + n)
		n++;
	return n;
}

/* 2 MB of [p, p + len) that one page-table entry maps, in number */
static inline size_t huge_mapped(const char *p, size_t len)
{
	struct {
		uint64_t start, end, categories;
	} vec[64];
	struct {
		uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask,
			anyof, wanted;
	} arg = {
		.size = sizeof(arg),
		.start = (unsigned long)p,
		.end = (unsigned long)p + len,
		.vec = (unsigned long)vec,
		.vec_len = 64,
		.mask = 1 << 6,
		.wanted = 1 << 6, /* PAGE_IS_HUGE */
	};
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int n = ioctl(fd, _IOWR('f', 16, arg), &arg), i;
	size_t bytes = 0;

	close(fd);
	for (i = 0; i < n; i++)
		bytes += vec[i].end - vec[i].start;
	return bytes / HUGE;
}

/* ----- an area that moves to and fro ----- */

struct area {
	const char *what;
	char *p;
	size_t len;
	size_t step; /* bytes from one address given to move_pages to the next */
	long copied; /* base pages an engine should copy in one move; -1: any */
	int flags; /* 0: MPOL_MF_MOVE */
	int huge; /* stays mapped by 2 MB entries */
	int fd; /* also read through this, if it is not 0 */
	uint64_t seed;
};

static inline void area_fill(struct area *a)
{
	a->seed = rnd();
	fill(a->p, a->len, a->seed);
}

/* Everything that is the same for every kind of memory that can be moved. */
static inline void area_move(struct area *a, int node)
{
	struct lift_counts before = lift_counts(), c;
	long rc, want;

	rc = move_status(0, a->p, a->len, a->step, node, a->flags ? a->flags : MPOL_MF_MOVE, NULL);
	c = lift_since(before);
	is(rc, 0, "%s: move_pages to node %d", a->what, node);
	is(on_node(a->p, a->len, node), a->len / PAGE, "%s: all pages are on node %d", a->what,
	   node);
	is(check(a->p, a->len, a->seed), 0, "%s: no page differs", a->what);
	if (a->fd)
		is(check_fd(a->fd, a->len, a->seed), 0, "%s: nor when read through a file",
		   a->what);
	if (a->huge)
		is(huge_mapped(a->p, a->len), a->len / HUGE, "%s: still mapped by 2 MB entries",
		   a->what);
	want = lift_engine() ? a->copied : 0;
	if (lift_present() && want >= 0 &&
	    !is(c.pages, want, "%s: pages that the engine copied", a->what))
		lift_tell(c);
}

/* From node 0, where it is, to node 1 and back, @times times, with another pattern each time. */
static inline void area_to_and_fro(struct area *a, unsigned int times)
{
	unsigned int i;

	if (a->huge)
		is(huge_mapped(a->p, a->len), a->len / HUGE, "%s: mapped by 2 MB entries", a->what);
	is(on_node(a->p, a->len, 0), a->len / PAGE, "%s: all pages begin on node 0", a->what);
	for (i = 0; i < times; i++) {
		if (i)
			area_fill(a);
		area_move(a, 1);
		area_fill(a);
		area_move(a, 0);
	}
}

#endif
