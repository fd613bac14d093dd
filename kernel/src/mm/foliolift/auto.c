// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: samples the load and lets the policy choose the engine
 *
 * Nothing of this is on the migration path but a look at one variable.  While batches
 * come, a work item looks ten times a second at what came, at which CPUs were idle
 * meanwhile and what the channels declined.  When none has come it stops, until the
 * next batch finds it asleep and wakes it.
 */
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/nodemask.h>
#include <linux/tick.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "deps.h"
#include "internal.h"

#define SAMPLE_MSEC	100

/* The counters of batches that came, by size. */
#define BATCHES(size)							\
	(offsetof(struct foliolift_stats, batches) +			\
	 (size) * sizeof(unsigned long))
#define PAGES(size)							\
	(offsetof(struct foliolift_stats, pages) +			\
	 (size) * sizeof(unsigned long))

/* The policy chooses, until a person does.  Under foliolift_lock. */
static bool foliolift_auto = true;

/* Read by every batch; true while the policy is in charge and nobody samples. */
bool foliolift_sampler_asleep;

/* The nodes of the batch that woke the sampler: those whose CPUs count. */
static int foliolift_src_nid, foliolift_dst_nid;

static void foliolift_sample(struct work_struct *work);
/* Not deferrable: its timer may be on a CPU that sleeps while another one migrates. */
static DECLARE_DELAYED_WORK(foliolift_sampler, foliolift_sample);

/*
 * What was seen at the last sample.  Only the work item touches it.  A time of 0: there
 * was none for a while, so there is nothing to compare with.
 */
static struct foliolift_policy foliolift_policy;
static struct {
	u64 time_ns;
	u64 idle_ns;
	unsigned long batches[FOLIOLIFT_NR_SIZES];
	unsigned long pages[FOLIOLIFT_NR_SIZES];
	unsigned long engine[FOLIOLIFT_NR_ROLES][FOLIOLIFT_NR_ENGINE_STATS];
	int nid;
} last;

/* The policy was not in charge, and knows nothing.  Under foliolift_lock. */
static bool foliolift_policy_new = true;

/*
 * Time that the CPUs of @nid that may help were idle, or would have been but for
 * helping, which must not look like load: the policy would flee from its own choice.
 */
static u64 foliolift_idle_ns(int nid)
{
	u64 us, sum = foliolift_mt_busy_ns();
	int cpu;

	for_each_cpu_and(cpu, cpumask_of_node(nid), cpu_online_mask) {
		if (!foliolift_mt_may_help(cpu))
			continue;
		us = get_cpu_idle_time_us(cpu, NULL);
		if (us == -1ULL)
			sum += kcpustat_cpu(cpu).cpustat[CPUTIME_IDLE] +
			       kcpustat_cpu(cpu).cpustat[CPUTIME_IOWAIT];
		else
			sum += (us + get_cpu_iowait_time_us(cpu, NULL)) *
			       NSEC_PER_USEC;
	}
	return sum;
}

static unsigned long foliolift_since(unsigned long now, unsigned long *then)
{
	unsigned long delta = now - *then;

	*then = now;
	return delta;
}

/* Average number of idle CPUs since the last sample, in sixteenths. */
static unsigned int foliolift_idle_16ths(u64 took)
{
	int nid = foliolift_mt_node(READ_ONCE(foliolift_src_nid),
				    READ_ONCE(foliolift_dst_nid));
	u64 now = foliolift_idle_ns(nid), idle = now - last.idle_ns;

	/* Of another node there is no earlier value: nothing is known this time. */
	if (nid != last.nid || now < last.idle_ns)
		idle = 0;
	last.nid = nid;
	last.idle_ns = now;
	/* Helpers of other nodes, and CPUs that came online, must not count twice. */
	return min_t(u64, div64_u64(idle * 16, max(took, 1ULL)),
		     cpumask_weight(cpumask_of_node(nid)) * 16);
}

/* What the engines counted.  Of interest is the one that the policy chose. */
static void foliolift_get_copied(struct foliolift_load *load)
{
	unsigned long now[FOLIOLIFT_NR_ENGINE_STATS];
	int role, stat;

	for (role = 0; role < FOLIOLIFT_NR_ROLES; role++) {
		for (stat = 0; stat < FOLIOLIFT_NR_ENGINE_STATS; stat++)
			now[stat] = foliolift_since(foliolift_engine_sum(role, stat),
						    &last.engine[role][stat]);
		if (role != foliolift_policy.now.role)
			continue;
		load->copied_batches = now[FOLIOLIFT_STAT_BATCHES] -
				       min(now[FOLIOLIFT_STAT_DECLINED],
					   now[FOLIOLIFT_STAT_BATCHES]);
		load->copied_pages = now[FOLIOLIFT_STAT_PAGES];
		load->copied_ns = now[FOLIOLIFT_STAT_NS];
		if (role == FOLIOLIFT_ROLE_DMA)
			load->dma_declined = now[FOLIOLIFT_STAT_DECLINED];
	}
}

/* Fill in what happened since the last sample.  False if no batch came. */
static bool foliolift_get_load(struct foliolift_load *load)
{
	u64 now = ktime_get_ns(), took = now - last.time_ns;
	bool any = false;
	int size;

	/*
	 * dma_busy stays 0: the engine holds its channels, so there are no others, and
	 * what batches take from one another shows as batches that were declined.
	 */
	*load = (struct foliolift_load) {};
	last.time_ns = now;
	for (size = 0; size < FOLIOLIFT_NR_SIZES; size++) {
		load->batches[size] =
			foliolift_since(foliolift_sum(BATCHES(size)),
					&last.batches[size]);
		load->pages[size] = foliolift_since(foliolift_sum(PAGES(size)),
						    &last.pages[size]);
		any |= load->batches[size];
	}
	load->idle_16ths = foliolift_idle_16ths(took);
	foliolift_get_copied(load);
	return any;
}

/* Do what the policy decided, unless a person has, or the engine is gone. */
static void foliolift_apply(const struct foliolift_choice *choice)
{
	struct foliolift_engine *engine = foliolift_engines[choice->role];

	lockdep_assert_held(&foliolift_lock);
	if (!engine)
		return;
	foliolift_set_width(engine, choice->width);
	foliolift_use(engine, max_t(unsigned long, choice->min_pages,
				    engine->min_pages));
}

/* Let the policy decide.  False if there is no reason to look again soon. */
static bool foliolift_decide(void)
{
	u64 now_ms = div_u64(ktime_get_ns(), NSEC_PER_MSEC);
	bool compare = last.time_ns;
	struct foliolift_speeds speeds;
	struct foliolift_load load;
	bool any = foliolift_get_load(&load);

	guard(mutex)(&foliolift_lock);
	if (!foliolift_auto)
		return false;
	if (foliolift_policy_new) {
		foliolift_policy_new = false;
		foliolift_policy_init(&foliolift_policy);
		foliolift_apply(&foliolift_policy.now);
	} else if (compare && any) {
		foliolift_take_speeds(&speeds);
		if (foliolift_policy_step(&foliolift_policy, &speeds, &load,
					  now_ms))
			foliolift_apply(&foliolift_policy.now);
	} else if (compare) {
		/* Who has just seen us awake leaves it to the next to wake us. */
		last.time_ns = 0;
		WRITE_ONCE(foliolift_sampler_asleep, true);
		return false;
	}
	return true;
}

static void foliolift_sample(struct work_struct *work)
{
	foliolift_calibrate(false);
	if (foliolift_decide())
		queue_delayed_work(system_unbound_wq, &foliolift_sampler,
				   msecs_to_jiffies(SAMPLE_MSEC));
}

/**
 * foliolift_sampler_wake() - Begin to sample again.
 * @src_nid:	Node that the batch comes from.
 * @dst_nid:	Node that it goes to.
 *
 * Context: The migration path, when it has seen foliolift_sampler_asleep.
 */
void foliolift_sampler_wake(int src_nid, int dst_nid)
{
	WRITE_ONCE(foliolift_sampler_asleep, false);
	WRITE_ONCE(foliolift_src_nid, src_nid);
	WRITE_ONCE(foliolift_dst_nid, dst_nid);
	/* Now only to see where the counters are. */
	queue_delayed_work(system_unbound_wq, &foliolift_sampler, 0);
}

/**
 * foliolift_auto_kick() - Something changed: look at once, if the policy is in charge.
 *
 * foliolift was switched on, or an engine came, which is to be measured.
 *
 * Context: Process context, with foliolift_lock held.
 */
void foliolift_auto_kick(void)
{
	lockdep_assert_held(&foliolift_lock);
	if (!foliolift_auto || !static_key_enabled(&foliolift_key))
		return;
	WRITE_ONCE(foliolift_sampler_asleep, false);
	mod_delayed_work(system_unbound_wq, &foliolift_sampler, 0);
}

/**
 * foliolift_auto_begin() - Put the policy in charge.
 *
 * Context: Process context, with foliolift_lock held.
 */
void foliolift_auto_begin(void)
{
	lockdep_assert_held(&foliolift_lock);
	if (!foliolift_auto)
		foliolift_policy_new = true;
	foliolift_auto = true;
	foliolift_auto_kick();
}

/**
 * foliolift_auto_renew() - What the policy remembers is worth nothing any more.
 *
 * Context: Process context, with foliolift_lock held.
 */
void foliolift_auto_renew(void)
{
	lockdep_assert_held(&foliolift_lock);
	foliolift_policy_new = true;
	foliolift_auto_kick();
}

/**
 * foliolift_auto_end() - Relieve the policy: a person has chosen.
 *
 * A sample that is being taken ends, and what it decides is not done.
 *
 * Context: Process context, with foliolift_lock held, which is why it cannot wait.
 */
void foliolift_auto_end(void)
{
	lockdep_assert_held(&foliolift_lock);
	foliolift_auto = false;
	WRITE_ONCE(foliolift_sampler_asleep, false);
	cancel_delayed_work(&foliolift_sampler);
}

/**
 * foliolift_auto_on() - Is the policy in charge?
 *
 * Context: Process context, with foliolift_lock held.
 * Return: Whether it is.
 */
bool foliolift_auto_on(void)
{
	lockdep_assert_held(&foliolift_lock);
	return foliolift_auto;
}
