/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Substitute for <linux/module.h>: a module is a shared object that the test loads with
 * dlopen(), so that every time it begins with fresh variables.
 */
#ifndef _NATIVE_LINUX_MODULE_H
#define _NATIVE_LINUX_MODULE_H

#include <linux/types.h>

static struct module model_this_module __attribute__((unused));

#define THIS_MODULE		(&model_this_module)
#define __exit
#define module_init(fn)		int (*const model_module_init)(void) = fn
#define module_exit(fn)		void (*const model_module_exit)(void) = fn
/* Of charp only. */
#define module_param(name, type, perm) char **const model_param_##name = &name
#define MODULE_PARM_DESC(name, text)	extern char **const model_param_##name
#define MODULE_DESCRIPTION(text)	extern int (*const model_module_init)(void)
#define MODULE_LICENSE(text)		extern int (*const model_module_init)(void)

#endif /* _NATIVE_LINUX_MODULE_H */
