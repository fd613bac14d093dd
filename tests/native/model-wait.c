// SPDX-License-Identifier: GPL-2.0
/* Preemption, clocks and waiting for a variable. */
#include "model.h"

#include <sched.h>
#include <time.h>

/* Seconds, after which whoever sleeps was forgotten. */
#define MODEL_PATIENCE	5

_Thread_local int model_preempt_count;

void preempt_disable(void)
{
	model_preempt_count++;
}

void preempt_enable(void)
{
	if (--model_preempt_count < 0)
		model_fail("lets itself be preempted once too often");
}

/* The machine's processors are few: whoever spins lets the others get on. */
void cpu_relax(void)
{
	sched_yield();
}

bool need_resched(void)
{
	return READ_ONCE(model.resched);
}

u64 ktime_get_ns(void)
{
	struct timespec now;

	if (model.clock_ns)
		return model.clock_ns;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* ----- waiting ----- */

static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_cond = PTHREAD_COND_INITIALIZER;

void model_wait_begin(void *var)
{
	if (model_preempt_count)
		model_fail("sleeps with preemption off");
	pthread_mutex_lock(&wait_lock);
	__atomic_fetch_add(&model.nr_waits, 1, __ATOMIC_RELAXED);
}

void model_wait(void *var)
{
	static bool lost;	/* once is enough to know */
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += lost ? 0 : MODEL_PATIENCE;
	if (pthread_cond_timedwait(&wait_cond, &wait_lock, &until)) {
		lost = true;
		model_fail("sleeps, and nobody wakes it");
	}
}

void model_wait_end(void *var)
{
	pthread_mutex_unlock(&wait_lock);
}

void wake_up_var(void *var)
{
	pthread_mutex_lock(&wait_lock);
	pthread_cond_broadcast(&wait_cond);
	pthread_mutex_unlock(&wait_lock);
}
