/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/bits.h>. */
#ifndef _NATIVE_LINUX_BITS_H
#define _NATIVE_LINUX_BITS_H

#define BIT(nr)	(1UL << (nr))

#endif /* _NATIVE_LINUX_BITS_H */
