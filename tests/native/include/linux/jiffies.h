/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/jiffies.h>: time is what the test says, each thread's own. */
#ifndef _NATIVE_LINUX_JIFFIES_H
#define _NATIVE_LINUX_JIFFIES_H

extern _Thread_local unsigned long jiffies;

#define HZ			1000
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define time_after(a, b)	time_before(b, a)
#ifndef msecs_to_jiffies
#define msecs_to_jiffies(ms)	((unsigned long)(ms))
#endif

#endif /* _NATIVE_LINUX_JIFFIES_H */
