// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: the engine that copies with several CPUs
 *
 * The caller copies, and asks idle CPUs of one node for help: the node that the folios
 * come from ("push") or the one they go to ("pull").  Nobody is asked who has something
 * else to do, and nobody who was asked is waited for, so with every other CPU busy this
 * is the CPU engine, at the cost of having looked.
 *
 * A helper is a work item on a per-CPU workqueue.  One item for each CPU, so whatever
 * happens to that CPU no more than one batch's share waits there; the item is the only
 * thing that this engine has for a CPU, and costs nothing while nobody asks.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/kobject.h>
#include <linux/nodemask.h>
#include <linux/sched/isolation.h>
#include <linux/sysfs.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "deps.h"
#include "internal.h"
#include "share.h"

/* A batch that is a single chunk cannot be shared. */
#define MT_MIN_PAGES	(FOLIOLIFT_CHUNK_PAGES + 1)

/*
 * The number of threads, the caller included: as the policy asks, and as a person has
 * set, where 0 leaves it to the policy.
 */
static unsigned int mt_policy_width;
static unsigned int mt_threads;

/*
 * Pull by default: in published measurements of copying with several CPUs it was the
 * faster of the two (THPs from 10.4 to 14.5 GB/s with 32 threads, push 10.3).
 */
static bool mt_pull = true;

/* ----- helpers ----- */

/**
 * struct mt_helper - A CPU's offer to help.
 * @work:	Queued on that CPU only.
 * @share:	What it is asked to help with.  Whoever changes it from NULL owns @work
 *		until the work sets it back.
 */
struct mt_helper {
	struct work_struct work;
	struct foliolift_share *share;
};

static DEFINE_PER_CPU(struct mt_helper, mt_helpers);
static struct workqueue_struct *mt_wq;

static DEFINE_PER_CPU(u64, mt_helper_ns);

static void mt_help(struct work_struct *work)
{
	struct mt_helper *helper = container_of(work, struct mt_helper, work);

	foliolift_share_help(helper->share);
	foliolift_share_put(helper->share);
	/* The next one's share is stored after this one was used for the last time. */
	smp_store_release(&helper->share, NULL);
}

/* Ask @cpu to help.  False if it still has not come to the last time it was asked. */
static bool mt_ask(int cpu, struct foliolift_share *share)
{
	struct mt_helper *helper = per_cpu_ptr(&mt_helpers, cpu);

	if (READ_ONCE(helper->share) || cmpxchg(&helper->share, NULL, share))
		return false;
	refcount_inc(&share->refs);
	/*
	 * A CPU that went offline a moment ago does no harm: the work then runs
	 * elsewhere, and nobody waits for it.
	 */
	queue_work_on(cpu, mt_wq, &helper->work);
	return true;
}

/* ----- whom to ask ----- */

/**
 * foliolift_mt_node() - The node whose CPUs help.
 * @src:	Node that a batch comes from.
 * @dst:	Node that it goes to.
 *
 * Return: Node with CPUs: the one that is to help, or the nearest to it.
 */
int foliolift_mt_node(int src, int dst)
{
	return numa_nearest_node(READ_ONCE(mt_pull) ? dst : src, N_CPU);
}

/**
 * foliolift_mt_may_help() - May a CPU be asked to help?
 * @cpu:	The CPU, online.
 *
 * Isolated CPUs, those that shall not be ticked and those of isolated cpusets are left
 * alone.
 *
 * Return: Whether it may.
 */
bool foliolift_mt_may_help(int cpu)
{
	return !cpu_is_isolated(cpu);
}

/* Does @cpu share a cache with the caller, or with one that was asked? */
static bool mt_shares_cache(int cpu, const int *asked, unsigned int nr_asked)
{
	unsigned int i;

	for (i = 0; i < nr_asked; i++)
		if (cpus_share_cache(cpu, asked[i]))
			return true;
	return false;
}

/*
 * Ask up to @nr idle CPUs.  First one for each cache, since CPUs of different caches
 * have more bandwidth together; then any.
 */
static unsigned int mt_ask_idle(struct foliolift_share *share,
				const struct cpumask *allowed, int nid,
				unsigned int nr)
{
	int asked[FOLIOLIFT_MAX_WIDTH], cpu, pass;
	unsigned int nr_asked = 1;

	asked[0] = raw_smp_processor_id();
	for (pass = 0; pass < 2; pass++) {
		for_each_cpu_and(cpu, cpumask_of_node(nid), allowed) {
			if (nr_asked > nr)
				return nr_asked - 1;
			if (cpu == asked[0] || !available_idle_cpu(cpu) ||
			    !foliolift_mt_may_help(cpu))
				continue;
			if (pass == 0 &&
			    mt_shares_cache(cpu, asked, nr_asked))
				continue;
			if (mt_ask(cpu, share))
				asked[nr_asked++] = cpu;
		}
	}
	return nr_asked - 1;
}

static unsigned int mt_recruit(struct foliolift_share *share,
			       const struct foliolift_batch *batch,
			       unsigned int nr)
{
	const struct foliolift_segment *seg = &batch->segments[0];
	int nid = foliolift_mt_node(folio_nid(seg->src), folio_nid(seg->dst));
	cpumask_var_t allowed;
	unsigned int nr_asked;

	/* The kernel's own threads are in no cpuset, and what is measured is for all. */
	if (current->flags & PF_KTHREAD || batch->reason == FOLIOLIFT_MEASURE)
		return mt_ask_idle(share, cpu_online_mask, nid, nr);

	if (!alloc_cpumask_var(&allowed,
			       GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC))
		return 0;
	cpuset_cpus_allowed(current, allowed);
	cpumask_and(allowed, allowed, cpu_online_mask);
	nr_asked = mt_ask_idle(share, allowed, nid, nr);
	free_cpumask_var(allowed);
	return nr_asked;
}

/* ----- whose time it is ----- */

#ifdef CONFIG_CGROUPS
static void mt_charge_cgroup(u64 ns)
{
	struct cgroup *cgrp;

	rcu_read_lock();
	cgrp = task_dfl_cgroup(current);
	/* The root's is what the CPUs counted, and has it already. */
	if (cgroup_parent(cgrp)) {
		__cgroup_account_cputime(cgrp, ns);
		__cgroup_account_cputime_field(cgrp, CPUTIME_SYSTEM, ns);
	}
	rcu_read_unlock();
}
#else
static void mt_charge_cgroup(u64 ns)
{
}
#endif

/*
 * The helpers' time goes on the account of the caller's cgroup, where it would be had
 * the caller copied alone.  Not on the caller's own: a task's run time belongs to the
 * scheduler, and the clock of a CPU on which the task did not run.
 */
static void mt_charge(u64 ns)
{
	this_cpu_add(mt_helper_ns, ns);
	mt_charge_cgroup(ns);
}

/**
 * foliolift_mt_busy_ns() - Time that helpers have copied.
 *
 * Return: Nanoseconds, in sum over all of them.
 */
u64 foliolift_mt_busy_ns(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(&mt_helper_ns, cpu));
	return sum;
}

/* ----- the engine ----- */

static unsigned int mt_width(const struct foliolift_batch *batch)
{
	unsigned int threads = READ_ONCE(mt_threads);

	/* What is measured is what the policy can have. */
	if (!threads || batch->reason == FOLIOLIFT_MEASURE)
		return READ_ONCE(mt_policy_width);
	return threads;
}

static int mt_copy(const struct foliolift_batch *batch)
{
	unsigned int nr_chunks = DIV_ROUND_UP(batch->nr_pages,
					      FOLIOLIFT_CHUNK_PAGES);
	unsigned int width = min(mt_width(batch), nr_chunks);
	struct foliolift_share *share;

	if (width < 2)
		return foliolift_cpu_copy(batch);
	share = foliolift_share_new(batch);
	if (!share)
		return foliolift_cpu_copy(batch);
	if (mt_recruit(share, batch, width - 1))
		mt_charge(foliolift_share_copy(share));
	else
		foliolift_cpu_copy(batch);
	foliolift_share_put(share);
	return 0;
}

static void mt_set_width(unsigned int width)
{
	WRITE_ONCE(mt_policy_width, width);
}

/* ----- its files ----- */

static ssize_t threads_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mt_threads));
}

static ssize_t threads_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	unsigned int threads;
	int err = kstrtouint(buf, 10, &threads);

	if (err)
		return err;
	if (threads > FOLIOLIFT_MAX_WIDTH)
		return -EINVAL;
	WRITE_ONCE(mt_threads, threads);
	return count;
}

static struct kobj_attribute threads_attr = __ATTR_RW(threads);

static ssize_t pull_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(mt_pull));
}

static ssize_t pull_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	bool pull;
	int err = kstrtobool(buf, &pull);

	if (err)
		return err;
	WRITE_ONCE(mt_pull, pull);
	return count;
}

static struct kobj_attribute pull_attr = __ATTR_RW(pull);

static ssize_t helper_us_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%llu\n", foliolift_mt_busy_ns() / NSEC_PER_USEC);
}

static struct kobj_attribute helper_us_attr = __ATTR_RO(helper_us);

static struct attribute *mt_attrs[] = {
	&threads_attr.attr,
	&pull_attr.attr,
	&helper_us_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(mt);

static struct foliolift_engine mt_engine = {
	.name = "mt",
	.role = FOLIOLIFT_ROLE_MT,
	.copy = mt_copy,
	.groups = mt_groups,
	.set_width = mt_set_width,
};

static int __init mt_engine_init(void)
{
	unsigned int width = 1;
	int cpu, nid, err;

	/*
	 * Helpers keep a CPU for as long as a batch takes, so others must not queue up
	 * behind them.  No rescuer: nothing waits for a helper that does not come.
	 */
	mt_wq = alloc_workqueue("foliolift_mt", WQ_CPU_INTENSIVE, 0);
	if (!mt_wq)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		INIT_WORK(&per_cpu_ptr(&mt_helpers, cpu)->work, mt_help);
	/* Every CPU of a node can help a caller on another. */
	for_each_node_state(nid, N_CPU)
		width = max(width, cpumask_weight(cpumask_of_node(nid)) + 1);
	mt_engine.max_width = min(width, FOLIOLIFT_MAX_WIDTH);
	mt_engine.min_pages = MT_MIN_PAGES;
	err = foliolift_register_engine(&mt_engine);
	if (err)
		destroy_workqueue(mt_wq);
	return err;
}

/* After the files' directories are there, and with every CPU up. */
late_initcall(mt_engine_init);
