/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's TCG plugin interface that insnprof uses, declared by hand.
 *
 * Debian's QEMU loads plugins, but no Debian package contains qemu-plugin.h. The interface is a
 * handful of C functions that QEMU exports to what it loads, so these declarations are all that
 * is needed; they are those of interface version 1 (QEMU 6.0 to 8.1, Debian 12 has 7.2).
 *
 * A plugin says which version it was written for in qemu_plugin_version, and QEMU refuses it,
 * with a sentence, when it no longer supports that one: QEMU 8.2 and later do. (Version 2 gave
 * qemu_plugin_register_vcpu_insn_exec_inline another name, version 3 dropped it.)
 */
#ifndef QEMU_PLUGIN_ABI_H
#define QEMU_PLUGIN_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))
#define QEMU_PLUGIN_VERSION 1

typedef uint64_t qemu_plugin_id_t;

/* What QEMU tells a plugin when it loads it. */
struct qemu_info {
	const char *target_name;	/* "x86_64" */
	struct {
		int min;		/* oldest interface version this QEMU supports */
		int cur;		/* its own */
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
};

struct qemu_plugin_tb;			/* a translation block */
struct qemu_plugin_insn;		/* an instruction of it; valid while it is translated */

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,		/* the callback looks at no register of the guest */
};

enum qemu_plugin_op {
	QEMU_PLUGIN_INLINE_ADD_U64,
};

typedef void (*qemu_plugin_tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_exec_cb)(unsigned int vcpu, void *data);
typedef void (*qemu_plugin_atexit_cb)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_atexit_cb cb, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

/* Adds imm to *ptr each time the instruction is executed; compiled into the translated code. */
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
						enum qemu_plugin_op op, void *ptr, uint64_t imm);
/* Calls cb each time before the instruction is executed. */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_plugin_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *data);

#endif
