/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Substitute for <linux/types.h> and the small things that every kernel header
 * brings along.  The atomic accesses are C11's, so that ThreadSanitizer judges
 * the kernel code by the ordering that it asks for and by nothing stronger.
 */
#ifndef _NATIVE_LINUX_TYPES_H
#define _NATIVE_LINUX_TYPES_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef unsigned int gfp_t;
typedef uint8_t u8;
typedef uint32_t u32;
/* Not uint64_t, which printf() wants another format for. */
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned long pgoff_t;
typedef unsigned short umode_t;

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#define SZ_64K		0x00010000
#define SZ_128K		0x00020000
#define SZ_256K		0x00040000
#define SZ_2M		0x00200000
#define SZ_8M		0x00800000
#define SZ_256M		0x10000000
#define SZ_1G		0x40000000
#define U64_MAX		(~0ULL)
#define U32_MAX		UINT32_MAX
#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define __force
#define noinline	__attribute__((noinline))
#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))

/* Once each, as in the kernel: what is compared may be the time of day. */
#define model_pick(a, op, b) ({						\
	__auto_type model_a = (a);					\
	__auto_type model_b = (b);					\
									\
	model_a op model_b ? model_a : model_b;				\
})
#define min(a, b)		model_pick(a, <, b)
#define max(a, b)		model_pick(a, >, b)
#define min_t(type, a, b)	model_pick((type)(a), <, (type)(b))
#define max_t(type, a, b)	model_pick((type)(a), >, (type)(b))
#define clamp(v, lo, hi) ({						\
	__auto_type model_lo = (lo);					\
	__auto_type model_v = max(v, model_lo);				\
									\
	min(model_v, hi);						\
})
#define clamp_t(type, v, lo, hi)	clamp((type)(v), (type)(lo), (type)(hi))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* Of anything, also a struct of two words; a value has no qualifiers. */
#define READ_ONCE(x) ({							\
	__typeof__(({ x; })) model_value;				\
									\
	__atomic_load((__typeof__(model_value) *)&(x), &model_value,	\
		      __ATOMIC_RELAXED);				\
	model_value;							\
})
#define WRITE_ONCE(x, v) ({						\
	__typeof__(({ x; })) model_value = (v);				\
									\
	__atomic_store(&(x), &model_value, __ATOMIC_RELAXED);		\
})
#define __acquires(x)
#define __releases(x)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* ThreadSanitizer knows no fences; nothing here depends on this one. */
#ifdef __SANITIZE_THREAD__
#define smp_rmb()		__atomic_signal_fence(__ATOMIC_ACQUIRE)
#else
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif

#endif /* _NATIVE_LINUX_TYPES_H */
