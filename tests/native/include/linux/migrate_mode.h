/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/migrate_mode.h>; a reason is only passed through. */
#ifndef _NATIVE_LINUX_MIGRATE_MODE_H
#define _NATIVE_LINUX_MIGRATE_MODE_H

enum migrate_mode {
	MIGRATE_ASYNC,
	MIGRATE_SYNC_LIGHT,
	MIGRATE_SYNC,
};

#endif /* _NATIVE_LINUX_MIGRATE_MODE_H */
