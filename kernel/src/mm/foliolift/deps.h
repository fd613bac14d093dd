/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel headers that mm/foliolift needs, and nothing else, so that the
 * tests in user space can put their own in place of this one file.
 */
#ifndef _MM_FOLIOLIFT_DEPS_H
#define _MM_FOLIOLIFT_DEPS_H

#include <linux/atomic.h>
#include <linux/buffer_head.h>
#include <linux/cleanup.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/hugetlb.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/migrate.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/wait_bit.h>

#include <trace/events/foliolift.h>

/*
 * Without block devices there are no buffer heads, and so no callback that knows of
 * them; <linux/buffer_head.h> declares the two all the same.
 */
#ifndef CONFIG_BUFFER_HEAD
#define buffer_migrate_folio NULL
#define buffer_migrate_folio_norefs NULL
#endif

#endif /* _MM_FOLIOLIFT_DEPS_H */
