/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/bits.h> and <linux/bitops.h>; bits of one word are enough. */
#ifndef _NATIVE_LINUX_BITS_H
#define _NATIVE_LINUX_BITS_H

#include <linux/types.h>

#define BIT(nr)	(1UL << (nr))
#define BITS_PER_LONG	64

static inline bool test_bit(long nr, const unsigned long *word)
{
	return READ_ONCE(*word) & BIT(nr);
}

static inline void set_bit(long nr, unsigned long *word)
{
	__atomic_fetch_or(word, BIT(nr), __ATOMIC_RELAXED);
}

static inline void assign_bit(long nr, unsigned long *word, bool on)
{
	if (on)
		set_bit(nr, word);
	else
		__atomic_fetch_and(word, ~BIT(nr), __ATOMIC_RELAXED);
}

static inline bool test_and_set_bit_lock(long nr, unsigned long *word)
{
	return __atomic_fetch_or(word, BIT(nr), __ATOMIC_ACQUIRE) & BIT(nr);
}

static inline void clear_bit_unlock(long nr, unsigned long *word)
{
	__atomic_fetch_and(word, ~BIT(nr), __ATOMIC_RELEASE);
}

#endif /* _NATIVE_LINUX_BITS_H */
