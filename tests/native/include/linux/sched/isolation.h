/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/sched/isolation.h>; the whole machine is in one place. */
#include <linux/topology.h>
