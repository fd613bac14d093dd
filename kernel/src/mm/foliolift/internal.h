/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of mm/foliolift share.  Include deps.h first. */
#ifndef _MM_FOLIOLIFT_INTERNAL_H
#define _MM_FOLIOLIFT_INTERNAL_H

#include <linux/foliolift.h>

#include "migrate.h"
#include "policy.h"

/**
 * enum foliolift_fallback - Why the move step copied a folio after all.
 * @FOLIOLIFT_FALLBACK_REFS:	 It had a reference too many (it is pinned, or in
 *				 somebody's hands); it may be written through it.
 * @FOLIOLIFT_FALLBACK_CALLBACK: Its mapping migrates it by a callback of its own, or
 *				 it has buffers or belongs to shmem.
 * @FOLIOLIFT_FALLBACK_FAILED:	 The engine reported an error.
 * @FOLIOLIFT_FALLBACK_DECLINED: The engine did not report on it.
 * @FOLIOLIFT_FALLBACK_NOMEM:	 No memory for the list of segments.
 * @FOLIOLIFT_FALLBACK_SMALL:	 The batch was too small for the engine, or came while
 *				 engines were being switched.
 * @FOLIOLIFT_FALLBACK_REASON:	 Migrations for this reason are left alone.
 * @FOLIOLIFT_NR_FALLBACKS:	 Number of causes.
 */
enum foliolift_fallback {
	FOLIOLIFT_FALLBACK_REFS,
	FOLIOLIFT_FALLBACK_CALLBACK,
	FOLIOLIFT_FALLBACK_FAILED,
	FOLIOLIFT_FALLBACK_DECLINED,
	FOLIOLIFT_FALLBACK_NOMEM,
	FOLIOLIFT_FALLBACK_SMALL,
	FOLIOLIFT_FALLBACK_REASON,
	FOLIOLIFT_NR_FALLBACKS,
};

/**
 * enum foliolift_engine_stat - What is counted of an engine.
 * @FOLIOLIFT_STAT_BATCHES:	Calls of the engine.
 * @FOLIOLIFT_STAT_FOLIOS:	Folios that it reported as copied.
 * @FOLIOLIFT_STAT_PAGES:	Base pages in them.
 * @FOLIOLIFT_STAT_FAILED:	Folios that it reported an error for or left pending,
 *				poisoned ones included.
 * @FOLIOLIFT_STAT_DECLINED:	Calls that it declined.
 * @FOLIOLIFT_STAT_NS:		Nanoseconds that the calls took, declined ones left out.
 * @FOLIOLIFT_NR_ENGINE_STATS:	Number of counters.
 */
enum foliolift_engine_stat {
	FOLIOLIFT_STAT_BATCHES,
	FOLIOLIFT_STAT_FOLIOS,
	FOLIOLIFT_STAT_PAGES,
	FOLIOLIFT_STAT_FAILED,
	FOLIOLIFT_STAT_DECLINED,
	FOLIOLIFT_STAT_NS,
	FOLIOLIFT_NR_ENGINE_STATS,
};

/**
 * struct foliolift_stats - Counters of one CPU; the files in sysfs show sums.
 * @engine:	By role, so that they survive an engine that comes and goes.
 * @fallback:	By cause.
 * @poisoned:	Folios whose source an engine found poisoned: these fail.
 * @batches:	Batches that came to the copy stage for a reason that an engine may have,
 *		by foliolift_size_class().
 * @pages:	Base pages in them.
 */
struct foliolift_stats {
	unsigned long engine[FOLIOLIFT_NR_ROLES][FOLIOLIFT_NR_ENGINE_STATS];
	unsigned long fallback[FOLIOLIFT_NR_FALLBACKS];
	unsigned long poisoned;
	unsigned long batches[FOLIOLIFT_NR_SIZES];
	unsigned long pages[FOLIOLIFT_NR_SIZES];
};

DECLARE_PER_CPU(struct foliolift_stats, foliolift_stats);

/* batch.c: one bit for each enum migrate_reason whose batches are copied early */
extern unsigned long foliolift_reasons;

/* engine.c */
extern struct mutex foliolift_lock;
extern struct foliolift_engine *foliolift_engines[FOLIOLIFT_NR_ROLES];
int foliolift_cpu_copy(const struct foliolift_batch *batch);
DECLARE_STATIC_CALL(foliolift_copy, foliolift_cpu_copy);
const struct foliolift_engine *foliolift_enter(unsigned long nr_pages, int *idx);
void foliolift_exit(int idx);
int foliolift_use(struct foliolift_engine *engine, unsigned long min_pages);
int foliolift_select_engine(const char *name);
void foliolift_set_enabled(bool on);
unsigned long foliolift_get_switches(void);
ssize_t foliolift_show_selected(char *buf);
ssize_t foliolift_show_active(char *buf);
ssize_t foliolift_show_available(char *buf);

/* calibrate.c; all but foliolift_get_speed() and _calibrate() with foliolift_lock held */
void foliolift_set_width(const struct foliolift_engine *engine,
			 unsigned int width);
void foliolift_speed_forget(const struct foliolift_engine *engine);
struct foliolift_speed foliolift_get_speed(enum foliolift_role role,
					   unsigned int width_log2);
int foliolift_calibrate(bool again);
void foliolift_take_speeds(struct foliolift_speeds *speeds);

/* auto.c; the functions named _auto_ with foliolift_lock held */
extern bool foliolift_sampler_asleep;
void foliolift_sampler_wake(int src_nid, int dst_nid);
void foliolift_auto_begin(void);
void foliolift_auto_renew(void);
void foliolift_auto_end(void);
void foliolift_auto_kick(void);
bool foliolift_auto_on(void);

/* mt.c */
int foliolift_mt_node(int src, int dst);
bool foliolift_mt_may_help(int cpu);
u64 foliolift_mt_busy_ns(void);

/* sysfs.c */
unsigned long foliolift_sum(size_t offset);
unsigned long foliolift_engine_sum(enum foliolift_role role,
				   enum foliolift_engine_stat stat);

/* sysfs.c; with the registration lock held, or before anyone can register */
int foliolift_sysfs_add_engine(const struct foliolift_engine *engine);
void foliolift_sysfs_remove_engine(const struct foliolift_engine *engine);

#endif /* _MM_FOLIOLIFT_INTERNAL_H */
