/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel headers that mm/foliolift needs, and nothing else, so that the
 * tests in user space can put their own in place of this one file.
 */
#ifndef _MM_FOLIOLIFT_DEPS_H
#define _MM_FOLIOLIFT_DEPS_H

#include <linux/buffer_head.h>
#include <linux/cleanup.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/hugetlb.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include <trace/events/foliolift.h>

#endif /* _MM_FOLIOLIFT_DEPS_H */
