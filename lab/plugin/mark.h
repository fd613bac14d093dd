/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks that a guest program executes to tell the profile plugin where a window begins and ends.
 *
 * A mark is a seven-byte no-operation, nopl DISP(%rax), whose displacement is the mark's name. It
 * reads no memory and has no effect on any machine, with or without the plugin.
 */
#ifndef FOLIOLIFT_PROFILE_MARK_H
#define FOLIOLIFT_PROFILE_MARK_H

#define PROFILE_MARK_BEGIN 0x42504c46	/* "FLPB" */
#define PROFILE_MARK_END   0x45504c46	/* "FLPE" */

/* 0f 1f 80 and the displacement, least significant byte first */
static inline __attribute__((always_inline)) void profile_mark(const int name)
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" : : "i"(name) : "memory");
}

static inline __attribute__((always_inline)) void profile_begin(void)
{
	profile_mark(PROFILE_MARK_BEGIN);
}

static inline __attribute__((always_inline)) void profile_end(void)
{
	profile_mark(PROFILE_MARK_END);
}

#endif
