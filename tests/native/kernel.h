/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of kernel/src/mm/foliolift see of a kernel.  Every one of them is
 * compiled with this header included first; the guard below makes their deps.h,
 * the one place that names the kernel's own headers, empty.
 *
 * Stand-ins that only do are here and in include/linux; those that check how they
 * are used are in model.c and model-sysfs.c.
 */
#ifndef _NATIVE_KERNEL_H
#define _NATIVE_KERNEL_H

#define _MM_FOLIOLIFT_DEPS_H

#include <linux/bits.h>
#include <linux/jump_label.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/migrate_mode.h>
#include <linux/mm.h>
#include <linux/sysfs.h>
#include <linux/types.h>
#include <pthread.h>

/* ----- build ----- */

#define __init
/* Something that swallows the semicolon. */
#define EXPORT_SYMBOL_GPL(name)	extern __typeof__(name) name
/* The tests call it when they want the system to come up. */
#define subsys_initcall(fn)	int (*const model_initcall)(void) = fn
#define pr_err(...)		model_log(__VA_ARGS__)

void model_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ----- strings: the kernel's ideas of them, Latin-1 letters included ----- */

/* Macros, for the compiler has ideas of its own about these names. */
#define isdigit(c)	model_isdigit(c)
#define islower(c)	model_islower(c)

static inline bool model_isdigit(int c)
{
	return c >= '0' && c <= '9';
}

static inline bool model_islower(int c)
{
	unsigned char u = c;

	return (u >= 'a' && u <= 'z') || (u >= 0xdf && u != 0xf7);
}

char *skip_spaces(const char *s);
int kstrtobool(const char *s, bool *res);
int kstrtouint(const char *s, unsigned int base, unsigned int *res);
int kstrtoull(const char *s, unsigned int base, unsigned long long *res);
unsigned long long memparse(const char *s, char **end);

/* ----- memory ----- */

#define __GFP_DIRECT_RECLAIM	BIT(0)
#define __GFP_KSWAPD_RECLAIM	BIT(1)
#define __GFP_NOWARN		BIT(2)
#define __GFP_NOMEMALLOC	BIT(3)
#define __GFP_ZERO		BIT(4)
#define GFP_NOWAIT		(__GFP_KSWAPD_RECLAIM | __GFP_NOWARN)
#define GFP_KERNEL		(__GFP_KSWAPD_RECLAIM | __GFP_DIRECT_RECLAIM)

void *kmalloc(size_t size, gfp_t gfp);
void kfree(const void *p);

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp | __GFP_ZERO);
}

static inline void *kmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	return kmalloc(n * size, gfp);
}

/* ----- counters of several CPUs: copies of one section, as in the kernel ----- */

#define NR_CPUS		4

extern _Thread_local int model_cpu;	/* that this thread runs on */

/* Out of sight of the compiler, who knows that no object reaches into another. */
void *model_percpu_at(const volatile void *p, int cpu);

#define DEFINE_PER_CPU(type, name) \
	type name __attribute__((section("model_percpu")))
#define DECLARE_PER_CPU(type, name)	extern type name
#define per_cpu_ptr(p, cpu)	((__typeof__(p))model_percpu_at(p, cpu))
#define this_cpu_add(var, n)						\
	__atomic_fetch_add((__typeof__(var) *)				\
			   model_percpu_at(&(var), model_cpu), (n),	\
			   __ATOMIC_RELAXED)
#define this_cpu_inc(var)		this_cpu_add(var, 1)
#define for_each_possible_cpu(cpu)	for (cpu = 0; cpu < NR_CPUS; cpu++)

/* ----- locks ----- */

struct mutex {
	pthread_mutex_t lock;
	const void *owner;
};

#define DEFINE_MUTEX(name) \
	struct mutex name = { .lock = PTHREAD_MUTEX_INITIALIZER }

struct mutex *model_mutex_lock(struct mutex *mutex);
void model_mutex_unlock(struct mutex **mutex);
void lockdep_assert_held(struct mutex *mutex);

#define guard(kind)							\
	struct mutex *model_guard					\
		__attribute__((cleanup(model_##kind##_unlock))) =	\
		model_##kind##_lock

/* Readers of either half; a grace period waits for both in turn. */
struct srcu_struct {
	long readers[2];
	int current;
	pthread_mutex_t lock;
};

#define DEFINE_STATIC_SRCU(name) \
	static struct srcu_struct name = { .lock = PTHREAD_MUTEX_INITIALIZER }

int srcu_read_lock(struct srcu_struct *srcu);
void srcu_read_unlock(struct srcu_struct *srcu, int idx);
void synchronize_srcu(struct srcu_struct *srcu);

void cond_resched(void);

/* ----- modules ----- */

struct module {
	int refs;
	bool going;	/* try_module_get() fails */
};

bool try_module_get(struct module *module);
void module_put(struct module *module);

/*
 * ----- static calls -----
 *
 * A plain pointer, not an atomic one: a call that is patched while somebody may
 * be on the way to it is a data race.
 */
#define DECLARE_STATIC_CALL(name, func) \
	extern __typeof__(func) *model_static_call_##name
#define DEFINE_STATIC_CALL(name, func) \
	__typeof__(func) *model_static_call_##name = func
#define static_call(name)	(*model_static_call_##name)
#define static_call_update(name, func) do {				\
	model_patching();						\
	model_static_call_##name = (func);				\
} while (0)

void model_patching(void);

/* ----- tracepoints ----- */

struct foliolift_batch;
void trace_foliolift_engine(const char *engine,
			    const struct foliolift_batch *batch,
			    unsigned int nr_copied, int ret);

#endif /* _NATIVE_KERNEL_H */
