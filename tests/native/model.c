// SPDX-License-Identifier: GPL-2.0
/*
 * Memory, locks, modules, static calls and folios that check how they are used.
 *
 * The model's own counters are relaxed atomics, so that they order nothing that
 * the kernel code ought to order by itself.
 */
#include "model.h"

#include <sched.h>
#include <stdarg.h>
#include <time.h>

#include "cmocka-native.h"

#define ADD(var, n)	__atomic_fetch_add(&(var), (n), __ATOMIC_RELAXED)

struct model model;
extern char __start_model_percpu[], __stop_model_percpu[];
static char percpu[NR_CPUS][4096] __attribute__((aligned(64)));

static _Thread_local bool is_test_thread, is_migrating, is_hushed;
static _Thread_local int srcu_depth, srcu_idx, nr_mutexes;
static pthread_mutex_t failure_lock = PTHREAD_MUTEX_INITIALIZER;
static char failure[256];

/* ----- failures ----- */

/* The kernel code waits for itself; there is no way back into it. */
static void deadlock(const char *text)
{
	if (is_test_thread)
		fail_msg("%s", text);
	fprintf(stderr, "%s\n", text);
	abort();
}

void model_fail(const char *fmt, ...)
{
	char text[sizeof(failure)];
	va_list ap;

	if (is_hushed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (is_test_thread && !srcu_depth && !nr_mutexes)
		fail_msg("%s", text);
	pthread_mutex_lock(&failure_lock);
	if (!failure[0])
		memcpy(failure, text, sizeof(failure));
	pthread_mutex_unlock(&failure_lock);
}

int model_start(void **state)
{
	is_test_thread = true;
	return (size_t)(__stop_model_percpu - __start_model_percpu) >
	       sizeof(percpu[0]);
}

void model_settled(void)
{
	char text[sizeof(failure)];

	pthread_mutex_lock(&failure_lock);
	memcpy(text, failure, sizeof(text));
	failure[0] = '\0';
	pthread_mutex_unlock(&failure_lock);
	if (text[0])
		fail_msg("%s", text);
	if (srcu_depth)
		fail_msg("returned inside an SRCU section");
	if (nr_mutexes)
		fail_msg("returned with a mutex held");
}

void model_hush(bool hush)
{
	model.on_synchronize = NULL;
	model.on_patch = NULL;
	model.fault_in = 0;
	is_migrating = false;
	is_hushed = hush;
	failure[0] = '\0';
}

void model_log(const char *fmt, ...)
{
	/* Formatted, so that its arguments are looked at, but not printed. */
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
}

void model_migrate_begin(void)
{
	is_migrating = true;
}

void model_migrate_end(void)
{
	is_migrating = false;
}

void refcount_inc(refcount_t *r)
{
	if (ADD(r->refs, 1) < 1)
		model_fail("takes a reference to what nobody holds");
}

bool refcount_dec_and_test(refcount_t *r)
{
	/* Release, and acquire for the last: what the kernel's gives. */
	int refs = __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL);

	if (refs < 0)
		model_fail("drops a reference that nobody holds");
	return !refs;
}

void cond_resched(void)
{
	if (model_preempt_count)
		model_fail("reschedules with preemption off");
	if (nr_mutexes && is_migrating)
		model_fail("a batch may not hold a mutex while it copies");
}

/* ----- memory ----- */

bool model_fault(void);

/* Is this the one that is to fail? */
bool model_fault(void)
{
	if (!READ_ONCE(model.fault_in))
		return false;
	if (ADD(model.fault_in, -1) != 1)
		return false;
	model.faulted = true;
	return true;
}

void *kmalloc(size_t size, gfp_t gfp)
{
	void *p;

	if (is_migrating && (gfp & __GFP_DIRECT_RECLAIM))
		model_fail("waits for memory with folios locked");
	if (is_migrating && !(gfp & __GFP_NOMEMALLOC))
		model_fail("takes memory from the reserves");
	if (model_fault())
		return NULL;
	p = malloc(size);
	if (!p)
		abort();
	/* Whoever did not ask for zeroes must not find any. */
	memset(p, gfp & __GFP_ZERO ? 0 : 0xa5, size);
	ADD(model.nr_allocs, 1);
	return p;
}

void kfree(const void *p)
{
	if (p)
		ADD(model.nr_allocs, -1);
	free((void *)p);
}

void *model_percpu_at(const volatile void *p, int cpu)
{
	return percpu[cpu] + ((const char *)p - __start_model_percpu);
}

unsigned long model_percpu_sum(const unsigned long *counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(counter, cpu));
	return sum;
}

/* ----- locks ----- */

struct mutex *model_mutex_lock(struct mutex *mutex)
{
	if (is_migrating)
		model_fail("the migration path takes a mutex");
	if (READ_ONCE(mutex->owner) == &nr_mutexes)
		deadlock("takes a mutex that it holds");
	pthread_mutex_lock(&mutex->lock);
	WRITE_ONCE(mutex->owner, &nr_mutexes);	/* an address for each thread */
	nr_mutexes++;
	return mutex;
}

void model_mutex_unlock(struct mutex **mutex)
{
	nr_mutexes--;
	WRITE_ONCE((*mutex)->owner, NULL);
	pthread_mutex_unlock(&(*mutex)->lock);
}

void lockdep_assert_held(struct mutex *mutex)
{
	if (READ_ONCE(mutex->owner) != &nr_mutexes)
		model_fail("a lock is not held that ought to be");
}

int srcu_read_lock(struct srcu_struct *srcu)
{
	int idx = READ_ONCE(srcu->current) & 1;

	/*
	 * With the one in synchronize_srcu() this gives what SRCU promises: a
	 * section that a grace period did not wait for sees all that was
	 * written before it; but not what was written after.
	 */
	__atomic_fetch_add(&srcu->readers[idx], 1, __ATOMIC_SEQ_CST);
	srcu_depth++;
	srcu_idx = idx;
	return idx;
}

void srcu_read_unlock(struct srcu_struct *srcu, int idx)
{
	if (srcu_depth != 1 || idx != srcu_idx)
		model_fail("leaves an SRCU section that it is not in");
	srcu_depth--;
	__atomic_fetch_sub(&srcu->readers[idx], 1, __ATOMIC_SEQ_CST);
}

void synchronize_srcu(struct srcu_struct *srcu)
{
	int half;

	ADD(model.nr_synchronized, 1);
	if (model.on_synchronize)
		model.on_synchronize();
	if (srcu_depth)
		deadlock("waits for itself to leave an SRCU section");
	pthread_mutex_lock(&srcu->lock);
	for (half = 0; half < 2; half++) {
		int idx = ADD(srcu->current, 1) & 1;

		while (__atomic_fetch_add(&srcu->readers[idx], 0,
					  __ATOMIC_SEQ_CST))
			sched_yield();
	}
	pthread_mutex_unlock(&srcu->lock);
}

/* ----- modules and static calls ----- */

bool try_module_get(struct module *module)
{
	if (!module)
		return true;
	if (READ_ONCE(module->going))
		return false;
	ADD(module->refs, 1);
	return true;
}

void module_put(struct module *module)
{
	if (module && ADD(module->refs, -1) <= 0)
		model_fail("puts a module that it has not got");
}

void model_patching(void)
{
	ADD(model.nr_patched, 1);
	if (model.on_patch)
		model.on_patch();
}

void trace_foliolift_engine(const char *engine,
			    const struct foliolift_batch *batch,
			    unsigned int nr_copied, int ret)
{
	if (nr_copied > batch->nr_segments)
		model_fail("more folios traced as copied than there were");
	if (!is_test_thread)
		return;
	model.nr_traced++;
	model.traced_engine = engine;
	model.traced_copied = nr_copied;
	model.traced_ret = ret;
}

/* ----- folios ----- */

struct address_space model_swap_space;

size_t model_folio_size(const struct folio *folio)
{
	return folio_size(folio);
}

void model_folio_write(struct folio *folio, uint64_t seed)
{
	struct rng rng = { seed };
	size_t i;

	for (i = 0; i < model_folio_size(folio); i += sizeof(uint64_t)) {
		uint64_t word = rng_next(&rng);

		memcpy(folio->data + i, &word, sizeof(word));
	}
}

struct folio *model_folio(unsigned int order, uint64_t seed)
{
	struct folio *folio = calloc(1, sizeof(*folio));

	if (!folio)
		abort();
	folio->order = order;
	folio->refs = 1;	/* of whoever isolated it */
	folio->data = malloc(model_folio_size(folio));
	if (!folio->data)
		abort();
	model_folio_write(folio, seed);
	return folio;
}

void model_folio_free(struct folio *folio)
{
	free(folio->data);
	free(folio);
}

struct folio *__folio_alloc_node(gfp_t gfp, unsigned int order, int nid)
{
	struct folio *folio;

	if (model_fault())
		return NULL;
	folio = model_folio(order, 0);
	folio->nid = nid;
	ADD(model.nr_allocs, 1);
	return folio;
}

struct folio *folio_alloc(gfp_t gfp, unsigned int order)
{
	return __folio_alloc_node(gfp, order, 0);
}

void folio_put(struct folio *folio)
{
	if (--folio->refs)
		return;
	ADD(model.nr_allocs, -1);
	model_folio_free(folio);
}

bool want_init_on_alloc(gfp_t gfp)
{
	return model.init_on_alloc;
}

bool want_init_on_free(void)
{
	return model.init_on_free;
}

bool model_folio_same(const struct folio *a, const struct folio *b)
{
	return a->order == b->order &&
	       !memcmp(a->data, b->data, model_folio_size(a));
}

/* As the kernel's: stops at the poison, with part of the copy done. */
int folio_mc_copy(struct folio *dst, struct folio *src)
{
	if (dst->order != src->order)
		model_fail("copies a folio of order %u to one of order %u",
			   src->order, dst->order);
	src->nr_reads++;
	dst->nr_writes++;
	if (src->poisoned) {
		memcpy(dst->data, src->data, model_folio_size(src) / 2);
		return -EHWPOISON;
	}
	memcpy(dst->data, src->data, model_folio_size(src));
	return 0;
}

/* ----- random numbers (splitmix64) ----- */

uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t model_seed(void)
{
	const char *text = getenv("SEED");
	static uint64_t seed;

	if (seed)
		return seed;
	if (text && *text)
		seed = strtoull(text, NULL, 0);
	else
		seed = (uint64_t)time(NULL) * 1000003 + clock();
	print_message("seed %llu (SEED=... repeats it)\n",
		      (unsigned long long)seed);
	return seed;
}

unsigned int model_rounds(unsigned int rounds)
{
	const char *text = getenv("ROUNDS");

	return text && *text ? strtoul(text, NULL, 0) : rounds;
}
