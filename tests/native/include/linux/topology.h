/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Substitute for <linux/topology.h> and its like: a machine whose CPUs, nodes and
 * caches the test lays out, and says of each CPU what it has to do.  One word is mask
 * enough for all of them.
 */
#ifndef _NATIVE_LINUX_TOPOLOGY_H
#define _NATIVE_LINUX_TOPOLOGY_H

#include <linux/bits.h>

#define NR_CPUS		16
#define MAX_NUMNODES	4
#define NUMA_NO_NODE	(-1)

struct cpumask {
	unsigned long bits;
};

typedef struct {
	unsigned long bits;
} nodemask_t;

enum node_states {
	N_MEMORY,
	N_CPU,
	NR_NODE_STATES
};

struct model_machine {
	struct cpumask online, node[MAX_NUMNODES];
	struct cpumask allowed;		/* to the current task by its cpuset */
	unsigned long idle, isolated;	/* CPUs */
	int cache[NR_CPUS];		/* number of the CPU's last level cache */
	u64 idle_us[NR_CPUS], iowait_us[NR_CPUS];
};

extern struct model_machine model_machine;
extern nodemask_t node_states[NR_NODE_STATES];
extern _Thread_local int model_cpu;	/* that this thread runs on */

#define raw_smp_processor_id()	model_cpu
#define cpu_online_mask		((const struct cpumask *)&model_machine.online)
#define cpumask_of_node(nid) \
	((const struct cpumask *)&model_machine.node[nid])
#define cpumask_weight(mask)	((unsigned int)__builtin_popcountl((mask)->bits))
#define available_idle_cpu(cpu)	test_bit(cpu, &model_machine.idle)
#define cpu_is_isolated(cpu)	test_bit(cpu, &model_machine.isolated)
#define cpus_share_cache(a, b) \
	(model_machine.cache[a] == model_machine.cache[b])
#define node_state(nid, state)	test_bit(nid, &node_states[state].bits)
#define first_node(mask)	__builtin_ctzl((mask).bits)
#define numa_nearest_node(nid, state)	model_nearest_node(nid, state)

#define for_each_possible_cpu(cpu)	for (cpu = 0; cpu < NR_CPUS; cpu++)
#define for_each_bit(bit, bits)						\
	for (bit = model_next_bit(bits, 0); bit < BITS_PER_LONG;	\
	     bit = model_next_bit(bits, bit + 1))
#define for_each_cpu_and(cpu, a, b)	for_each_bit(cpu, (a)->bits & (b)->bits)
#define for_each_node_state(nid, state) \
	for_each_bit(nid, node_states[state].bits)

static inline int model_next_bit(unsigned long bits, int from)
{
	while (from < BITS_PER_LONG && !test_bit(from, &bits))
		from++;
	return from;
}

static inline void cpumask_and(struct cpumask *to, const struct cpumask *a,
			       const struct cpumask *b)
{
	to->bits = a->bits & b->bits;
}

/* As the kernel does it where masks are not on the stack. */
typedef struct cpumask *cpumask_var_t;
bool alloc_cpumask_var(cpumask_var_t *mask, gfp_t gfp);
void free_cpumask_var(cpumask_var_t mask);

/* The next by number is the nearest. */
int model_nearest_node(int nid, enum node_states state);

/* Time that CPUs did nothing, -1 where it is not kept. */
u64 get_cpu_idle_time_us(int cpu, u64 *last);
u64 get_cpu_iowait_time_us(int cpu, u64 *last);

enum {
	CPUTIME_SYSTEM,
	CPUTIME_IDLE,
	CPUTIME_IOWAIT,
	NR_STATS
};

struct kernel_cpustat {
	u64 cpustat[NR_STATS];
};

extern struct kernel_cpustat model_cpustat[NR_CPUS];
#define kcpustat_cpu(cpu)	model_cpustat[cpu]

#endif /* _NATIVE_LINUX_TOPOLOGY_H */
