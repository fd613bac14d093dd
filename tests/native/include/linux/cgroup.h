/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/cgroup.h> and for the task that belongs to one. */
#ifndef _NATIVE_LINUX_CGROUP_H
#define _NATIVE_LINUX_CGROUP_H

#include <linux/topology.h>

#define CONFIG_CGROUPS
#define PF_KTHREAD	1

struct cgroup {
	struct cgroup *parent;
	u64 cputime, system;
};

struct task_struct {
	unsigned int flags;
	struct cgroup *cgroup;
};

extern struct task_struct model_task;

#define current			(&model_task)
#define rcu_read_lock()		do { } while (0)
#define rcu_read_unlock()	do { } while (0)
#define task_dfl_cgroup(task)	((task)->cgroup)
#define cgroup_parent(cgrp)	((cgrp)->parent)
#define __cgroup_account_cputime(cgrp, ns)	((cgrp)->cputime += (ns))
#define __cgroup_account_cputime_field(cgrp, field, ns)			\
	((cgrp)->system += (field) == CPUTIME_SYSTEM ? (ns) : 0)

static inline void cpuset_cpus_allowed(struct task_struct *task,
				       struct cpumask *mask)
{
	*mask = model_machine.allowed;
}

#endif /* _NATIVE_LINUX_CGROUP_H */
