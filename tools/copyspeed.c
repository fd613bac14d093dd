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
 */
#define _GNU_SOURCE
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

int main(void)
{
	static const size_t sizes[] = {
		4096, 65536, 2UL << 20, 4UL << 20, 8UL << 20, 16UL << 20, 32UL << 20,
	};
	char *src = area(1), *dst = area(2);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		measure(dst, src, sizes[i]);
	return 0;
}
