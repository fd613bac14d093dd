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
#include <linux/gfp.h>
#include <linux/jump_label.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/migrate_mode.h>
#include <linux/mm.h>
#include <linux/sysfs.h>
#include <linux/topology.h>
#include <linux/types.h>
#include <pthread.h>

/* ----- build ----- */

#define __init
#define KBUILD_MODNAME	"model"
/* Something that swallows the semicolon. */
#define EXPORT_SYMBOL_GPL(name)	extern __typeof__(name) name
/* The tests call it when they want the system to come up. */
#define subsys_initcall(fn)	int (*const model_initcall)(void) = fn
#define late_initcall(fn)	int (*const model_late_initcall)(void) = fn
#define pr_err(...)		model_log(__VA_ARGS__)
#define pr_warn(...)		model_log(__VA_ARGS__)
#define pr_info(...)		model_log(__VA_ARGS__)
#define pr_err_ratelimited(...)	model_log(__VA_ARGS__)

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

/* ----- atomics: ordered as the kernel's are, by their names ----- */

typedef struct { int counter; } atomic_t;
typedef struct { long counter; } atomic_long_t;
typedef struct { s64 counter; } atomic64_t;
typedef struct { int refs; } refcount_t;

#define ATOMIC_OP(name, kind_t, value, op, order)			\
	static inline value name(value n, kind_t *v)			\
	{								\
		return __atomic_##op(&v->counter, n, __ATOMIC_##order);	\
	}

ATOMIC_OP(atomic_long_fetch_add_relaxed, atomic_long_t, long, fetch_add, RELAXED)
ATOMIC_OP(atomic_long_add_return, atomic_long_t, long, add_fetch, SEQ_CST)
ATOMIC_OP(atomic_long_add_return_relaxed, atomic_long_t, long, add_fetch, RELAXED)
ATOMIC_OP(atomic_long_add, atomic_long_t, long, fetch_add, RELAXED)
ATOMIC_OP(atomic_long_sub, atomic_long_t, long, fetch_sub, RELAXED)
ATOMIC_OP(atomic64_add, atomic64_t, s64, fetch_add, RELAXED)

#define atomic_read(v)			READ_ONCE((v)->counter)
#define atomic_set(v, n)		WRITE_ONCE((v)->counter, n)
#define atomic_inc(v)							\
	((void)__atomic_fetch_add(&(v)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec(v)							\
	((void)__atomic_fetch_sub(&(v)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec_and_test(v)						\
	(!__atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST))
#define atomic_long_read(v)		READ_ONCE((v)->counter)
#define atomic_long_read_acquire(v)	smp_load_acquire(&(v)->counter)
#define atomic_long_set(v, n)		WRITE_ONCE((v)->counter, n)
#define atomic_long_inc(v)		atomic_long_add(1, v)
#define atomic64_read(v)		READ_ONCE((v)->counter)
#define atomic64_set(v, n)		WRITE_ONCE((v)->counter, n)

#define refcount_set(r, n)		WRITE_ONCE((r)->refs, n)
void refcount_inc(refcount_t *r);
bool refcount_dec_and_test(refcount_t *r);

/* The old value; stored only if that is @old. */
#define cmpxchg(p, old, new) ({						\
	__typeof__(*(p)) model_old = (old);				\
									\
	__atomic_compare_exchange_n(p, &model_old, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);	\
	model_old;							\
})

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

/* ----- waiting; model-wait.c ----- */

extern _Thread_local int model_preempt_count;
void preempt_disable(void);
void preempt_enable(void);
bool need_resched(void);
void cpu_relax(void);
u64 local_clock(void);		/* of the tests that need it */
u64 ktime_get_ns(void);

/* As long as it takes; woken like the kernel's, by the variable's address. */
#define wait_var_event(var, cond) do {					\
	model_wait_begin(var);						\
	while (!(cond))							\
		model_wait(var);					\
	model_wait_end(var);						\
} while (0)

void model_wait_begin(void *var);
void model_wait(void *var);
void model_wait_end(void *var);
void wake_up_var(void *var);

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
