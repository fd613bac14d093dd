/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/slab.h>; kernel.h has it all. */
