// SPDX-License-Identifier: GPL-2.0
/* CPUs, nodes and delayed work, and what stands in for the files that are not linked. */
#include "model.h"

#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "mm/foliolift/internal.h"

_Thread_local unsigned long jiffies;

_Thread_local int model_cpu;

/* Two nodes of four CPUs, a cache for each two; a third node without CPUs. */
struct model_machine model_machine = {
	.online = { 0xff },
	.node = { { 0x0f }, { 0xf0 } },
	.allowed = { ~0UL },
	.idle = ~0UL,
	.cache = { 0, 0, 1, 1, 2, 2, 3, 3 },
};

nodemask_t node_states[NR_NODE_STATES] = {
	[N_MEMORY] = { 7 },
	[N_CPU] = { 3 },
};

struct kernel_cpustat model_cpustat[NR_CPUS];

int model_nearest_node(int nid, enum node_states state)
{
	while (!node_state(nid, state))
		nid = (nid + 1) % MAX_NUMNODES;
	return nid;
}

u64 get_cpu_idle_time_us(int cpu, u64 *last)
{
	return model_machine.idle_us[cpu];
}

u64 get_cpu_iowait_time_us(int cpu, u64 *last)
{
	return model_machine.iowait_us[cpu];
}

bool alloc_cpumask_var(cpumask_var_t *mask, gfp_t gfp)
{
	*mask = kmalloc(sizeof(**mask), gfp);
	return *mask;
}

void free_cpumask_var(cpumask_var_t mask)
{
	kfree(mask);
}

/* ----- delayed work ----- */

#define ADD(var, n)	__atomic_fetch_add(&(var), (n), __ATOMIC_RELAXED)

static struct delayed_work *delayed_work;

/* Everything before the queueing is seen by the work, as the kernel promises. */
static bool set_pending(struct delayed_work *work, int pending)
{
	__atomic_store_n(&delayed_work, work, __ATOMIC_RELAXED);
	return __atomic_exchange_n(&work->pending, pending, __ATOMIC_ACQ_REL);
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
			unsigned long delay)
{
	ADD(model.nr_queued, 1);
	return !set_pending(work, 1);
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay)
{
	ADD(model.nr_kicked, 1);
	return set_pending(work, 1);
}

bool cancel_delayed_work(struct delayed_work *work)
{
	ADD(model.nr_cancelled, 1);
	return set_pending(work, 0);
}

bool model_run_delayed_work(void)
{
	struct delayed_work *work = READ_ONCE(delayed_work);

	if (!work || !set_pending(work, 0))
		return false;
	work->work.func(&work->work);
	return true;
}

/* ----- instead of policy.c and mt.c; weak, for the tests that have the real ones ----- */

__attribute__((weak)) void foliolift_policy_init(struct foliolift_policy *policy)
{
	policy->now = (struct foliolift_choice) { FOLIOLIFT_ROLE_CPU, 1, 2 };
}

__attribute__((weak))
bool foliolift_policy_step(struct foliolift_policy *policy,
			   const struct foliolift_speeds *speeds,
			   const struct foliolift_load *load, u64 now_ms)
{
	ADD(model.nr_steps, 1);
	model.load = *load;
	policy->now.role = READ_ONCE(model.choice.role);
	policy->now.width = model.choice.width;
	policy->now.min_pages = model.choice.min_pages;
	return model.changes;
}

__attribute__((weak)) int foliolift_mt_node(int src, int dst)
{
	return dst;
}

__attribute__((weak)) bool foliolift_mt_may_help(int cpu)
{
	return true;
}

__attribute__((weak)) u64 foliolift_mt_busy_ns(void)
{
	return 0;
}
