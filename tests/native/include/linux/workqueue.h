/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Substitute for <linux/workqueue.h>: nothing runs by itself.  Delayed work, of which
 * there is one item, runs when the test calls model_run_delayed_work(); other work is
 * handed to the test.
 */
#ifndef _NATIVE_LINUX_WORKQUEUE_H
#define _NATIVE_LINUX_WORKQUEUE_H

#include <linux/types.h>

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct delayed_work {
	struct work_struct work;
	int pending;
};

struct workqueue_struct;

#define INIT_WORK(work, fn)	((work)->func = (fn))
#define DECLARE_DELAYED_WORK(name, fn) \
	struct delayed_work name = { .work.func = (fn) }
#define WQ_CPU_INTENSIVE	1
#define system_unbound_wq	NULL
#define msecs_to_jiffies(ms)	((unsigned long)(ms))

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay);
bool cancel_delayed_work(struct delayed_work *work);

/* Of the test that needs them. */
struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags,
					 int max_active);
void destroy_workqueue(struct workqueue_struct *wq);
bool queue_work_on(int cpu, struct workqueue_struct *wq,
		   struct work_struct *work);

#endif /* _NATIVE_LINUX_WORKQUEUE_H */
