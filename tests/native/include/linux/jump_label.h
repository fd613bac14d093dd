/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/jump_label.h>: a static key is a flag. */
#ifndef _NATIVE_LINUX_JUMP_LABEL_H
#define _NATIVE_LINUX_JUMP_LABEL_H

#include <linux/types.h>

struct static_key_false {
	bool on;
};

#define DEFINE_STATIC_KEY_FALSE(name)	struct static_key_false name
#define DECLARE_STATIC_KEY_FALSE(name)	extern struct static_key_false name

#define static_key_enabled(key)		READ_ONCE((key)->on)
#define static_branch_unlikely(key)	READ_ONCE((key)->on)
#define static_branch_enable(key)	WRITE_ONCE((key)->on, true)
#define static_branch_disable(key)	WRITE_ONCE((key)->on, false)

#endif /* _NATIVE_LINUX_JUMP_LABEL_H */
