/* SPDX-License-Identifier: GPL-2.0 */
/*
 * foliolift: engines that copy the contents of a batch of migrating folios
 *
 * migrate_pages() unmaps a batch of folios, flushes the TLB once and then
 * moves the folios one by one.  With foliolift the copying of the whole batch
 * happens between the flush and the first move, in one call of an engine.
 * This header is all that an engine needs; Documentation/mm/foliolift.rst
 * tells the whole design.
 */
#ifndef _LINUX_FOLIOLIFT_H
#define _LINUX_FOLIOLIFT_H

#include <linux/migrate_mode.h>
#include <linux/types.h>

struct attribute_group;
struct folio;
struct module;

/* An engine's name, which people write to /sys/kernel/mm/foliolift/engine */
#define FOLIOLIFT_NAME_LEN	16

/*
 * The reason of a batch that nobody migrates: it is copied to measure the engine, with
 * just as many threads or channels as were set last.
 */
#define FOLIOLIFT_MEASURE	MR_TYPES

/* At most so many threads or channels copy a batch. */
#define FOLIOLIFT_MAX_WIDTH	32

/* At most so many folios are handed to an engine in one call. */
#define FOLIOLIFT_MAX_SEGMENTS	1024

/*
 * A segment's status before the engine has said anything of it.  Not zero:
 * an engine that returns early, times out or has a bug must never make a
 * destination visible that was not written.
 */
#define FOLIOLIFT_PENDING	1

/**
 * enum foliolift_role - What an engine copies with.
 * @FOLIOLIFT_ROLE_CPU:	The calling CPU; built in, always there.
 * @FOLIOLIFT_ROLE_MT:	Several CPUs.
 * @FOLIOLIFT_ROLE_DMA:	DMA channels.
 * @FOLIOLIFT_ROLE_TEST: A test's engine.
 * @FOLIOLIFT_NR_ROLES:	Number of roles.
 *
 * There is at most one registered engine of each role.
 */
enum foliolift_role {
	FOLIOLIFT_ROLE_CPU,
	FOLIOLIFT_ROLE_MT,
	FOLIOLIFT_ROLE_DMA,
	FOLIOLIFT_ROLE_TEST,
	FOLIOLIFT_NR_ROLES,
};

/**
 * struct foliolift_segment - One folio to copy.
 * @dst:	Folio to copy to: locked, not mapped, of the same order as @src,
 *		seen by nobody else.
 * @src:	Folio to copy from: locked, not mapped, flushed from every TLB, and
 *		with no reference beside those of the migration and its mapping.
 * @nr_pages:	Pages of PAGE_SIZE in each of the two folios, contiguous in both.
 * @status:	The engine's report.  %FOLIOLIFT_PENDING until the engine sets it;
 *		0: every byte is in @dst and visible to every CPU;
 *		%-EHWPOISON: @src cannot be read, and its move fails without trying;
 *		another negative errno: not copied, the CPU is to copy it.
 */
struct foliolift_segment {
	struct folio *dst;
	struct folio *src;
	unsigned int nr_pages;
	int status;
};

/**
 * struct foliolift_batch - What an engine is asked to copy.
 * @segments:	The folios.
 * @nr_segments: Their number, 1 to %FOLIOLIFT_MAX_SEGMENTS.
 * @nr_pages:	Sum of the segments' pages.
 * @mode:	Mode of the migration.
 * @reason:	Reason of the migration, an enum migrate_reason; or %FOLIOLIFT_MEASURE.
 */
struct foliolift_batch {
	struct foliolift_segment *segments;
	unsigned int nr_segments;
	unsigned long nr_pages;
	enum migrate_mode mode;
	int reason;
};

/**
 * struct foliolift_engine - A way to copy batches of folios.
 * @name:	1 to %FOLIOLIFT_NAME_LEN - 1 characters of [a-z0-9_-], unique.
 * @role:	What it copies with; any but %FOLIOLIFT_ROLE_CPU.
 * @min_pages:	Batches of fewer pages do not come to the engine; 0 is taken as 1.
 *		Folios that cannot be copied early are left out afterwards, so one
 *		call may bring less.
 * @owner:	Module that holds the code; pinned while the engine is selected.
 * @copy:	Copy a batch and report on each of its segments.
 * @groups:	Files of the engine's own, shown beside its counters in
 *		/sys/kernel/mm/foliolift/engines/NAME; of struct kobj_attribute.  May be
 *		NULL.  They must not register, unregister or select engines.
 * @max_width:	Threads or channels that it can copy with at once; 0 is taken as 1.
 * @set_width:	Copy with so many of them, 1 to @max_width, from the next batch on, as the
 *		policy asks.  Called with foliolift's lock held; must not sleep for
 *		long.  Needed if @max_width is more than 1.
 *
 * @copy is called in process context, with every folio of the batch locked and
 * isolated, possibly by a task that reclaims memory.  It may sleep, but must not
 * wait for the lock, the buffers or the writeback of any folio, nor allocate in
 * a way that could (no __GFP_DIRECT_RECLAIM): the lock may be held by this very
 * batch.  Nor for whoever changes CPU or memory hotplug state: engines are switched
 * under cpus_read_lock().  Several calls may run at once.  When it returns, whatever it started
 * has stopped: nothing may write to a destination any more, whether its
 * segment's status says so or not, and whoever wrote one has been synchronised
 * with in the way that the memory model asks for (a completion, a release that
 * @copy has acquired, a DMA unmapping).
 *
 * @copy returns 0 if it took the batch, however many segments of it failed, or
 * a negative errno if it declined: the CPU then copies whatever is not reported
 * as copied.
 */
struct foliolift_engine {
	const char *name;
	enum foliolift_role role;
	unsigned int min_pages;
	struct module *owner;
	int (*copy)(const struct foliolift_batch *batch);
	const struct attribute_group **groups;
	unsigned int max_width;
	void (*set_width)(unsigned int width);
};

int foliolift_register_engine(struct foliolift_engine *engine);
void foliolift_unregister_engine(struct foliolift_engine *engine);

#endif /* _LINUX_FOLIOLIFT_H */
