/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/ktime.h>; the clocks are in kernel.h. */
