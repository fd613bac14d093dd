/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM foliolift

#if !defined(_TRACE_FOLIOLIFT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_FOLIOLIFT_H

#include <linux/foliolift.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/tracepoint.h>

/*
 * The phases of a batch, each event at the end of its phase; the first is at the
 * beginning.  They come from the same task in this order, so the time between two
 * of them is the phase's.  (Only the first comes when nothing could be unmapped for
 * want of memory.)  They are there whether the copy stage is on or off: off, the copy
 * phase is empty and the copying is part of the move.
 */
DECLARE_EVENT_CLASS(foliolift_phase,

	TP_PROTO(struct list_head *folios, int mode, int reason),

	TP_ARGS(folios, mode, reason),

	TP_STRUCT__entry(
		__field(unsigned int,	nr_folios)
		__field(unsigned long,	nr_pages)
		__field(int,		mode)
		__field(int,		reason)
	),

	TP_fast_assign(
		struct folio *folio;

		__entry->nr_folios = 0;
		__entry->nr_pages = 0;
		list_for_each_entry(folio, folios, lru) {
			__entry->nr_folios++;
			__entry->nr_pages += folio_nr_pages(folio);
		}
		__entry->mode = mode;
		__entry->reason = reason;
	),

	/* Mode and reason are those of enum migrate_mode and migrate_reason. */
	TP_printk("nr_folios=%u nr_pages=%lu mode=%d reason=%d",
		  __entry->nr_folios, __entry->nr_pages,
		  __entry->mode, __entry->reason)
);

/* A batch begins: the folios that are to be unmapped. */
DEFINE_EVENT(foliolift_phase, foliolift_start,
	TP_PROTO(struct list_head *folios, int mode, int reason),
	TP_ARGS(folios, mode, reason));

/* Unmapped: the folios that could be. */
DEFINE_EVENT(foliolift_phase, foliolift_unmap,
	TP_PROTO(struct list_head *folios, int mode, int reason),
	TP_ARGS(folios, mode, reason));

/* Flushed from every TLB. */
DEFINE_EVENT(foliolift_phase, foliolift_flush,
	TP_PROTO(struct list_head *folios, int mode, int reason),
	TP_ARGS(folios, mode, reason));

/* Copied, as far as the copy stage could. */
DEFINE_EVENT(foliolift_phase, foliolift_copy,
	TP_PROTO(struct list_head *folios, int mode, int reason),
	TP_ARGS(folios, mode, reason));

/* Moved: the folios that are left were busy until the last attempt. */
DEFINE_EVENT(foliolift_phase, foliolift_move,
	TP_PROTO(struct list_head *folios, int mode, int reason),
	TP_ARGS(folios, mode, reason));

/* One call of an engine. */
TRACE_EVENT(foliolift_engine,

	TP_PROTO(const char *engine, const struct foliolift_batch *batch,
		 unsigned int nr_copied, int ret),

	TP_ARGS(engine, batch, nr_copied, ret),

	TP_STRUCT__entry(
		__string(engine,	engine)
		__field(unsigned int,	nr_folios)
		__field(unsigned long,	nr_pages)
		__field(unsigned int,	nr_copied)
		__field(int,		ret)
	),

	TP_fast_assign(
		__assign_str(engine);
		__entry->nr_folios = batch->nr_segments;
		__entry->nr_pages = batch->nr_pages;
		__entry->nr_copied = nr_copied;
		__entry->ret = ret;
	),

	TP_printk("engine=%s nr_folios=%u nr_pages=%lu nr_copied=%u ret=%d",
		  __get_str(engine), __entry->nr_folios, __entry->nr_pages,
		  __entry->nr_copied, __entry->ret)
);

#endif /* _TRACE_FOLIOLIFT_H */

#include <trace/define_trace.h>
