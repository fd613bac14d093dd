/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DMA channels that copy in threads of their own, and a DMA API that bounces: what the
 * device reads and writes is a copy, made by mapping and taken back by unmapping, so
 * that a part which is not unmapped, or too early, is one that is not copied.
 */
#ifndef _NATIVE_DMA_MODEL_H
#define _NATIVE_DMA_MODEL_H

#include "model.h"

#include <linux/dmaengine.h>

struct fake_chan {
	struct dma_chan chan;
	struct dma_device device;
	struct device dev;
	char name[20];
	/* What it does; set while it has nothing to do. */
	unsigned int pool;	/* descriptors that it has, 0: enough */
	int terminate_fails;	/* so many times */
	bool late;		/* what hung is copied after all, when stopped */
	bool wrong;		/* one byte is not as it should be */
	int held;		/* begins when this is 0 again */
	/* What it did. */
	unsigned long nr_descs, nr_terminated;
	bool requested;
	/* Under the model's lock. */
	struct fake_desc *submitted, *issued, *running;
	unsigned int nr_used;	/* of the pool */
	bool hung, terminating, quit;
	pthread_t thread;
};

#define NR_FAKES	32

extern struct fake_chan fakes[NR_FAKES];
extern unsigned int nr_fakes;

/* So many new channels named dma0chan0 and so on, and their threads. */
void fakes_start(unsigned int nr);
/* Ends the threads; nothing may be requested, mapped or left in a channel. */
void fakes_stop(void);

/* The batch that this thread has in the engine, for what is checked meanwhile. */
extern _Thread_local const struct foliolift_batch *fake_batch;
/* Mappings that this thread has made and not undone. */
extern _Thread_local long fake_nr_mapped;

#endif /* _NATIVE_DMA_MODEL_H */
