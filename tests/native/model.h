/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests see of the model: faults to inject, hooks into the middle of an
 * engine's replacement, folios, files, and everything that was counted.
 */
#ifndef _NATIVE_MODEL_H
#define _NATIVE_MODEL_H

#include "kernel.h"

#include <linux/foliolift.h>

#include "mm/foliolift/policy.h"

struct model {
	/* Faults. */
	int fault_in;		/* the so many-th thing that can fail fails; 0: none */
	bool faulted;		/* it did */
	/* Hooks. */
	void (*on_synchronize)(void);	/* a grace period begins */
	void (*on_patch)(void);		/* the static call is about to change */
	bool resched;		/* somebody needs every CPU */
	bool init_on_alloc, init_on_free;
	u64 clock_ns;		/* ktime_get_ns(), which stands still; 0: the real one */
	/* Of delayed work: told to run at once, some time, not at all. */
	unsigned int nr_kicked, nr_queued, nr_cancelled;
	/* The stand-in for the policy: what it says, and what it was told last. */
	bool changes;
	unsigned int nr_steps;
	struct foliolift_choice choice;
	struct foliolift_load load;
	/* State. */
	long nr_allocs;		/* not freed yet */
	long nr_kobjects;	/* not released yet */
	/* What happened. */
	unsigned long nr_synchronized, nr_patched, nr_traced;
	unsigned long nr_waits;	/* somebody went to sleep in wait_var_event() */
	unsigned int traced_copied;
	int traced_ret;
	const char *traced_engine;
};

extern struct model model;
extern int (*const model_initcall)(void);

/*
 * The kernel code did what it must not.  Fails the test on the spot, or, in another
 * thread or with a lock of the kernel code held, at the next model_settled().
 */
void model_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define model_check(cond) do {						\
	if (!(cond))							\
		model_fail("%s:%d: %s", __FILE__, __LINE__, #cond);	\
} while (0)

/*
 * Between these, this thread migrates: it holds folio locks and may be reclaiming
 * memory, so it must neither wait for memory nor use the reserves.
 */
void model_migrate_begin(void);
void model_migrate_end(void);

/* Setup of every test binary: the calling thread is the tests' own. */
int model_start(void **state);
/* Nothing is held, nothing has failed. */
void model_settled(void);
/* While hushed, no failure counts: to clear up after a test that has failed. */
void model_hush(bool hush);

/* A folio of 1 << order pages, its contents told by @seed; free with free. */
struct folio *model_folio(unsigned int order, uint64_t seed);
void model_folio_free(struct folio *folio);
void model_folio_write(struct folio *folio, uint64_t seed);
bool model_folio_same(const struct folio *a, const struct folio *b);
size_t model_folio_size(const struct folio *folio);

/* A counter of foliolift_stats, summed over the CPUs. */
#define model_stat(member) \
	model_percpu_sum(&foliolift_stats.member)
unsigned long model_percpu_sum(const unsigned long *counter);

/* Files below /sys/kernel/mm; -ENOENT if there is none. */
ssize_t model_read(const char *path, char *buf);	/* PAGE_SIZE */
ssize_t model_write(const char *path, const char *text);
bool model_dir(const char *path);
/* Directories in the root of sysfs, where none of ours belongs. */
unsigned int model_stray_dirs(void);

/* Runs the delayed work that is queued, if any is. */
bool model_run_delayed_work(void);

/* Random numbers, the same for the same seed on every machine. */
struct rng {
	uint64_t state;
};

uint64_t rng_next(struct rng *rng);
/* 0 to n - 1 */
static inline unsigned int rng_below(struct rng *rng, unsigned int n)
{
	return (uint32_t)(rng_next(rng) >> 32) % n;
}

static inline bool rng_percent(struct rng *rng, unsigned int percent)
{
	return rng_below(rng, 100) < percent;
}

/* $SEED or the time; printed. */
uint64_t model_seed(void);
/* $ROUNDS, or as many as this. */
unsigned int model_rounds(unsigned int rounds);

#endif /* _NATIVE_MODEL_H */
