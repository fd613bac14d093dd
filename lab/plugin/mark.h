/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks that a guest program executes to tell the profile plugin where a window begins and ends.
 *
 * A mark is a no-operation that holds the mark's name. On x86-64 it has seven bytes, nopl DISP(%rax) with
 * the name as the displacement; on arm64 it moves the upper half of the name into the zero register. It
 * reads no memory and has no effect on any machine, with or without the plugin.
 */
#ifndef FOLIOLIFT_PROFILE_MARK_H
#define FOLIOLIFT_PROFILE_MARK_H

#define PROFILE_MARK_BEGIN 0x42504c46	/* "FLPB" */
#define PROFILE_MARK_END   0x45504c46	/* "FLPE" */

/* movz xzr, #0; the constant's place in it begins at bit 5 */
#define PROFILE_MARK_MOVZ 0xd280001f
#define PROFILE_MARK_MOVZ_SHIFT 5

#ifdef __aarch64__
static inline __attribute__((always_inline)) void profile_mark(const int name)
{
	__asm__ volatile(".inst %c0" : : "i"(PROFILE_MARK_MOVZ | name >> 16 << PROFILE_MARK_MOVZ_SHIFT) : "memory");
}
#else
/* 0f 1f 80 and the displacement, least significant byte first */
static inline __attribute__((always_inline)) void profile_mark(const int name)
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" : : "i"(name) : "memory");
}
#endif

static inline __attribute__((always_inline)) void profile_begin(void)
{
	profile_mark(PROFILE_MARK_BEGIN);
}

static inline __attribute__((always_inline)) void profile_end(void)
{
	profile_mark(PROFILE_MARK_END);
}

#endif
