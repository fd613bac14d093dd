/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/math64.h> and <linux/log2.h>. */
#ifndef _NATIVE_LINUX_MATH64_H
#define _NATIVE_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline s64 div_s64(s64 a, int32_t b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (__uint128_t)a * b >> shift;
}

/* As on x86, a quotient that does not fit is a trap. */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	if (mul_u64_u64_shr(a, b, 64) >= c)
		__builtin_trap();
	return (__uint128_t)a * b / c;
}

static inline unsigned int ilog2(unsigned long n)
{
	return 8 * sizeof(n) - 1 - __builtin_clzl(n);
}

#endif /* _NATIVE_LINUX_MATH64_H */
