/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/sizes.h>; kernel.h has it all. */
