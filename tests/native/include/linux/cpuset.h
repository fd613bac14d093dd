/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/cpuset.h>; the task and what it belongs to are in one place. */
#include <linux/cgroup.h>
