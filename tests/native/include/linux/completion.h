/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/completion.h>: a wait in vain moves jiffies; see dma-model.c. */
#ifndef _NATIVE_LINUX_COMPLETION_H
#define _NATIVE_LINUX_COMPLETION_H

#include <linux/jiffies.h>
#include <linux/types.h>

struct completion {
	unsigned int done;
};

void init_completion(struct completion *c);
void reinit_completion(struct completion *c);
void complete(struct completion *c);
bool completion_done(struct completion *c);
unsigned long wait_for_completion_timeout(struct completion *c,
					  unsigned long timeout);
long schedule_timeout_uninterruptible(long timeout);

#endif /* _NATIVE_LINUX_COMPLETION_H */
