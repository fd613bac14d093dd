// SPDX-License-Identifier: GPL-2.0
/*
 * insnprof: a QEMU TCG plugin that counts executed instructions.
 *
 *	-plugin insnprof.so,out=FILE[,text=START-END]
 *
 * Every address of the kernel image (text=, hexadecimal; as System.map has it, so the guest must
 * boot with nokaslr) has a counter of its own. Kernel code outside the image (modules, trampolines)
 * is one total and user space another. All virtual CPUs are counted together. The counters are
 * incremented inline and without locks: the figures are exact with one emulation thread (-icount
 * or thread=single).
 *
 * What is counted is the whole run, or, if the guest executes the marks of mark.h, each window
 * between a begin and an end: boot, set-up and the checks afterwards then cost nothing and need
 * not be subtracted. FILE is text:
 *
 *	window N		from 1; 0 is the whole run of a guest that never marked a window
 *	HEXADDRESS COUNT	executed addresses of the kernel image, ascending
 *	kernel COUNT		kernel code outside the image
 *	user COUNT
 *	total COUNT		all of these
 *
 * and each window is written as it ends, so a guest that dies leaves those before.
 *
 * A string instruction with a rep prefix counts once for each iteration under -icount: there QEMU
 * ends the translation block after one iteration and executes the instruction again. "rep movsb"
 * of a 4 KB page is 4096, whatever a real machine makes of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mark.h"
#include "qemu-plugin-abi.h"

/* QEMU reads this before anything else and refuses a version it does not support. */
QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* Where x86-64 has the kernel image and nothing else: enough there if text= is not given. */
#define IMAGE_START 0xffffffff81000000ULL
#define IMAGE_END   0xffffffff83000000ULL

static uint64_t image_start = IMAGE_START;
static uint64_t image_end = IMAGE_END;

static uint64_t *counts;	/* one for each byte of the image; untouched pages cost nothing */
static uint32_t *used;		/* the offsets in counts of translated instructions, each once */
static size_t n_used, room;
static unsigned char *is_used;	/* for each byte of the image */
static uint64_t kernel, user;	/* the totals outside the image */

static FILE *out;
static const char *out_name = "insnprof.out";
static unsigned int windows;	/* begun so far */
static int open_window;		/* between a begin and its end */

/* ---- reporting ---------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void write_counts(unsigned int window)
{
	uint64_t total = kernel + user;
	size_t i;

	qsort(used, n_used, sizeof(*used), by_value);
	fprintf(out, "window %u\n", window);
	for (i = 0; i < n_used; i++) {
		uint64_t n = counts[used[i]];

		if (!n)
			continue;
		total += n;
		fprintf(out, "%" PRIx64 " %" PRIu64 "\n", image_start + used[i], n);
	}
	fprintf(out, "kernel %" PRIu64 "\nuser %" PRIu64 "\ntotal %" PRIu64 "\n", kernel, user, total);
	if (fflush(out) || ferror(out)) {
		fprintf(stderr, "insnprof: cannot write %s: %s.\n", out_name, strerror(errno));
		exit(1);
	}
}

static void clear_counts(void)
{
	size_t i;

	for (i = 0; i < n_used; i++)
		counts[used[i]] = 0;
	kernel = 0;
	user = 0;
}

/* ---- marks -------------------------------------------------------------------------------- */

static void begin(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	windows++;
	open_window = 1;
	clear_counts();
}

static void end(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (open_window)
		write_counts(windows);
	open_window = 0;
}

static uint32_t mark_of_x86(const unsigned char *bytes, size_t size)
{
	static const unsigned char nopl[] = { 0x0f, 0x1f, 0x80 };
	uint32_t name;

	if (size != sizeof(nopl) + sizeof(name) || memcmp(bytes, nopl, sizeof(nopl)))
		return 0;
	memcpy(&name, bytes + sizeof(nopl), sizeof(name));
	return name;
}

static uint32_t mark_of_arm64(const unsigned char *bytes, size_t size)
{
	static const uint32_t names[] = { PROFILE_MARK_BEGIN, PROFILE_MARK_END };
	uint32_t word, i;

	if (size != sizeof(word))
		return 0;
	memcpy(&word, bytes, sizeof(word));
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (word == (PROFILE_MARK_MOVZ | names[i] >> 16 << PROFILE_MARK_MOVZ_SHIFT))
			return names[i];
	return 0;
}

/* The guest's processors that are known, and how a mark looks there. */
static const struct machine {
	const char *name;
	uint32_t (*mark_of)(const unsigned char *bytes, size_t size);
} machines[] = {
	{ "x86_64", mark_of_x86 },
	{ "aarch64", mark_of_arm64 },
};

static const struct machine *machine;

/* ---- counting ----------------------------------------------------------------------------- */

static uint64_t *image_counter(uint64_t offset)
{
	if (!is_used[offset]) {
		if (n_used == room) {
			room = room ? room * 2 : 1 << 16;
			used = realloc(used, room * sizeof(*used));
			if (!used) {
				fprintf(stderr, "insnprof: out of memory.\n");
				exit(1);
			}
		}
		is_used[offset] = 1;
		used[n_used++] = offset;
	}
	return &counts[offset];
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);
		uint64_t *counter;

		if (addr >= image_start && addr < image_end) {
			counter = image_counter(addr - image_start);
		} else if (addr >> 63) {
			counter = &kernel;
		} else {
			uint32_t mark = machine->mark_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));

			counter = &user;
			if (mark == PROFILE_MARK_BEGIN)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, begin, QEMU_PLUGIN_CB_NO_REGS, NULL);
			else if (mark == PROFILE_MARK_END)
				qemu_plugin_register_vcpu_insn_exec_cb(insn, end, QEMU_PLUGIN_CB_NO_REGS, NULL);
		}
		qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, counter, 1);
	}
}

static void finished(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	if (!windows)
		write_counts(0);
	fclose(out);
}

/* ---- loading ------------------------------------------------------------------------------ */

static int parse_text(const char *s)
{
	char *rest;

	errno = 0;
	image_start = strtoull(s, &rest, 16);
	if (errno || *rest != '-')
		return -1;
	image_end = strtoull(rest + 1, &rest, 16);
	if (errno || *rest || image_end <= image_start || image_end - image_start > UINT32_MAX)
		return -1;
	return 0;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
					   int argc, char **argv);

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
					   int argc, char **argv)
{
	int i;

	if (info->version.min > QEMU_PLUGIN_VERSION || info->version.cur < QEMU_PLUGIN_VERSION) {
		fprintf(stderr, "insnprof: written for plugin interface %d, this QEMU has %d to %d.\n",
			QEMU_PLUGIN_VERSION, info->version.min, info->version.cur);
		return -1;
	}
	for (i = 0; i < (int)(sizeof(machines) / sizeof(*machines)); i++)
		if (!strcmp(info->target_name, machines[i].name))
			machine = &machines[i];
	if (!info->system_emulation || !machine) {
		fprintf(stderr, "insnprof: only whole x86_64 and aarch64 machines are profiled, not %s%s.\n",
			info->target_name, info->system_emulation ? "" : " programs");
		return -1;
	}
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4)) {
			out_name = strdup(argv[i] + 4);
		} else if (strncmp(argv[i], "text=", 5) || parse_text(argv[i] + 5)) {
			fprintf(stderr, "insnprof: cannot use '%s'; known are out=FILE and text=START-END.\n",
				argv[i]);
			return -1;
		}
	}
	counts = calloc(image_end - image_start, sizeof(*counts));
	is_used = calloc(image_end - image_start, 1);
	out = out_name ? fopen(out_name, "w") : NULL;
	if (!counts || !is_used || !out) {
		fprintf(stderr, "insnprof: cannot open %s: %s.\n", out_name, strerror(errno));
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finished, NULL);
	return 0;
}
