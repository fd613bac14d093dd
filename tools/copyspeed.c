// SPDX-License-Identifier: GPL-2.0
/*
 * copyspeed - how long this machine takes to copy a folio that is in no cache
 *
 * Native, no NUMA needed.  Copies folios of a given size from one large area to
 * another with "rep movsb", as the kernel does, never the same folio twice in a
 * row, so that neither side is cached.  Prints one line a size:
 *
 *	bytes  runs  ns_median  ns_p99  GB/s of the median
 *
 * Used to choose the default of batch_bytes; see docs/batch-size.md.
 *
 * copyspeed chunks: one thread and then two copy 8 MB that they share out in chunks, with
 * the cursor and the counter that engine mt has.  One line a chunk size:
 *
 *	chunk  ns_1_thread  ns_2_threads  speed-up  longest ns of one chunk (median of runs)
 *
 * The best of the runs, since whatever disturbs one makes it longer.  Used to choose
 * FOLIOLIFT_CHUNK_PAGES; see docs/engines.md.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define AREA (512UL << 20) /* beyond any last-level cache it will meet */
#define RUNS 200

static unsigned long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000UL + ts.tv_nsec;
}

static void copy(void *dst, const void *src, size_t len)
{
#ifdef __x86_64__
	asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
#else
	memcpy(dst, src, len);
#endif
}

static int by_value(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a;
	unsigned long y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

static char *area(int fill)
{
	char *p = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("copyspeed: no memory for the areas (1 GB is needed)");
		exit(1);
	}
	madvise(p, AREA, MADV_HUGEPAGE);
	memset(p, fill, AREA);
	return p;
}

static void measure(char *dst, const char *src, size_t len)
{
	unsigned long ns[RUNS];
	/* Steps that never touch the same folio again before the whole area. */
	size_t folios = AREA / len, step = folios > 64 ? folios / 2 + 7 : 1;
	size_t at = 0;

	for (int i = 0; i < RUNS; i++) {
		unsigned long t = now_ns();

		copy(dst + at * len, src + at * len, len);
		ns[i] = now_ns() - t;
		at = (at + step) % folios;
	}
	qsort(ns, RUNS, sizeof(*ns), by_value);
	printf("%zu\t%d\t%lu\t%lu\t%.2f\n", len, RUNS, ns[RUNS / 2], ns[RUNS * 99 / 100],
	       (double)len / ns[RUNS / 2]);
}

/* ----- chunks ----- */

#define SHARED (8UL << 20)
#define CHUNK_RUNS 60

static struct {
	char *dst;
	const char *src;
	size_t chunk;
	atomic_ulong next, done;
	unsigned long longest[2]; /* of each thread */
} job;

static atomic_int round_nr, rounds_end;

static void take_all(int who)
{
	unsigned long at, t, longest = 0;

	while ((at = atomic_fetch_add(&job.next, job.chunk)) < SHARED) {
		t = now_ns();
		copy(job.dst + at, job.src + at, job.chunk);
		t = now_ns() - t;
		if (t > longest)
			longest = t;
		atomic_fetch_add(&job.done, job.chunk);
	}
	job.longest[who] = longest;
}

static void *helper(void *unused)
{
	int seen = 0;

	(void)unused;
	while (!atomic_load(&rounds_end)) {
		if (atomic_load(&round_nr) == seen)
			continue;
		seen = atomic_load(&round_nr);
		take_all(1);
	}
	return NULL;
}

static unsigned long share(char *dst, const char *src, size_t chunk, int threads,
			   unsigned long *longest)
{
	unsigned long best = -1UL, longests[CHUNK_RUNS];
	size_t places = AREA / SHARED;

	for (int i = 0; i < CHUNK_RUNS; i++) {
		size_t place = i * 7UL % places;
		unsigned long t;

		job.dst = dst + place * SHARED;
		job.src = src + place * SHARED;
		job.chunk = chunk;
		job.longest[1] = 0;
		atomic_store(&job.done, 0);
		atomic_store(&job.next, 0);
		t = now_ns();
		if (threads == 2)
			atomic_fetch_add(&round_nr, 1);
		take_all(0);
		while (atomic_load(&job.done) < SHARED)
			;
		t = now_ns() - t;
		if (t < best)
			best = t;
		longests[i] = job.longest[0] > job.longest[1] ? job.longest[0] : job.longest[1];
		atomic_store(&job.next, SHARED);
	}
	qsort(longests, CHUNK_RUNS, sizeof(*longests), by_value);
	*longest = longests[CHUNK_RUNS / 2];
	return best;
}

static void chunks(char *dst, const char *src)
{
	pthread_t thread;

	atomic_store(&job.next, SHARED);
	if (pthread_create(&thread, NULL, helper, NULL)) {
		fputs("copyspeed: no second thread can be had.\n", stderr);
		exit(1);
	}
	for (size_t chunk = 4096; chunk <= 2UL << 20; chunk *= 2) {
		unsigned long longest, one = share(dst, src, chunk, 1, &longest);
		unsigned long two = share(dst, src, chunk, 2, &longest);

		printf("%zu\t%lu\t%lu\t%.2f\t%lu\n", chunk, one, two, (double)one / two,
		       longest);
	}
	atomic_store(&rounds_end, 1);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {
		4096, 65536, 2UL << 20, 4UL << 20, 8UL << 20, 16UL << 20, 32UL << 20,
	};
	int only_chunks = argc == 2 && !strcmp(argv[1], "chunks");
	char *src, *dst;

	if (argc > 1 && !only_chunks) {
		fputs("copyspeed: it takes one argument at most, \"chunks\".\n", stderr);
		return 2;
	}
	src = area(1);
	dst = area(2);
	if (only_chunks) {
		chunks(dst, src);
		return 0;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		measure(dst, src, sizes[i]);
	return 0;
}
