// SPDX-License-Identifier: GPL-2.0
/*
 * See dma-model.h.
 *
 * Time does not pass: a wait times out when the channels have nothing left to do for
 * whoever waits but what hangs.  So a busy machine changes no result, and a test of
 * a time-out takes none.
 */
#include "dma-model.h"

#include <linux/completion.h>
#include <sched.h>

struct fake_chan fakes[NR_FAKES];
unsigned int nr_fakes;
_Thread_local const struct foliolift_batch *fake_batch;
_Thread_local long fake_nr_mapped;

/* Descriptors that this thread has issued and that will come to an end by themselves. */
static _Thread_local unsigned int my_work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long nr_mapped;

static bool fault(int *countdown)
{
	bool fails;

	pthread_mutex_lock(&lock);
	fails = *countdown && (*countdown < 0 || !--*countdown);
	pthread_mutex_unlock(&lock);
	return fails;
}

/* ----- the DMA API ----- */

struct mapping {
	struct device *dev;
	void *cpu, *bounce;
	size_t size;
	enum dma_data_direction dir;
	int users;	/* descriptors that the device may be at */
} __attribute__((aligned(64)));

#define MAPPING_ERROR	(~0UL)

/* Bytes that so many of the kernel's stand for. */
static size_t model_bytes(size_t size)
{
	model_check(!(size % PAGE_SIZE));
	return size / PAGE_SIZE * MODEL_PAGE;
}

static struct mapping *mapping_of(dma_addr_t addr)
{
	return (struct mapping *)(addr & ~63UL);
}

dma_addr_t dma_map_page(struct device *dev, struct page *page, size_t offset,
			size_t size, enum dma_data_direction dir)
{
	struct mapping *map;

	if (fault(&dev->faults.map))
		return MAPPING_ERROR;
	model_check(size <= dev->max_mapping && !offset);
	map = aligned_alloc(64, sizeof(*map));
	*map = (struct mapping) {
		.dev = dev, .cpu = page, .bounce = page, .size = size,
		.dir = dir,
	};
	if (!dev->direct) {
		map->bounce = malloc(model_bytes(size));
		/* In both directions, as swiotlb does it. */
		memcpy(map->bounce, map->cpu, model_bytes(size));
	}
	fake_nr_mapped++;
	__atomic_add_fetch(&nr_mapped, 1, __ATOMIC_RELAXED);
	return (dma_addr_t)map | dev->misaligned;
}

int dma_mapping_error(struct device *dev, dma_addr_t addr)
{
	return addr == MAPPING_ERROR ? -ENOMEM : 0;
}

/* No segment may count as copied before its contents are where they belong. */
static void check_not_reported(const struct mapping *map)
{
	char *start = map->cpu, *end = start + model_bytes(map->size);
	unsigned int i;

	for (i = 0; fake_batch && i < fake_batch->nr_segments; i++) {
		struct foliolift_segment *seg = &fake_batch->segments[i];
		char *data = folio_address(seg->dst);

		if (data < end && start < data + folio_size(seg->dst) &&
		    !seg->status)
			model_fail("a segment is reported before it is unmapped");
	}
}

void dma_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
		    enum dma_data_direction dir)
{
	struct mapping *map = mapping_of(addr);

	if (addr == MAPPING_ERROR) {
		model_fail("unmaps what could not be mapped");
		return;
	}
	model_check(map->dev == dev && map->size == size && map->dir == dir);
	if (__atomic_load_n(&map->users, __ATOMIC_RELAXED)) {
		/* Left where it is, so that the test comes to its end. */
		model_fail("unmaps what the device may still be at");
		return;
	}
	if (dir == DMA_FROM_DEVICE) {
		check_not_reported(map);
		if (!dev->direct)
			memcpy(map->cpu, map->bounce, model_bytes(size));
	}
	if (!dev->direct)
		free(map->bounce);
	free(map);
	fake_nr_mapped--;
	__atomic_sub_fetch(&nr_mapped, 1, __ATOMIC_RELAXED);
}

unsigned int dma_get_max_seg_size(struct device *dev)
{
	return dev->dma_parms && dev->dma_parms->max_segment_size ?
	       dev->dma_parms->max_segment_size : SZ_64K;
}

size_t dma_max_mapping_size(struct device *dev)
{
	return dev->max_mapping;
}

/* ----- descriptors, from the engine's side ----- */

struct fake_desc {
	struct dma_async_tx_descriptor tx;
	struct fake_chan *fake;
	struct mapping *src, *dst;
	size_t size;
	unsigned int *work;	/* of who waits for it, while that makes sense */
	struct fake_desc *next;
};

/* It is done, or will never be. */
static void desc_no_work(struct fake_desc *desc)
{
	if (desc->work)
		--*desc->work;
	desc->work = NULL;
}

static struct fake_chan *fake_of(struct dma_chan *chan)
{
	return container_of(chan, struct fake_chan, chan);
}

static void desc_free(struct fake_desc *desc)
{
	desc->fake->nr_used--;
	free(desc);
}

static void append(struct fake_desc **list, struct fake_desc *desc)
{
	while (*list)
		list = &(*list)->next;
	*list = desc;
}

struct dma_async_tx_descriptor *
dmaengine_prep_dma_memcpy(struct dma_chan *chan, dma_addr_t dst,
			  dma_addr_t src, size_t len, unsigned long flags)
{
	struct fake_chan *fake = fake_of(chan);
	struct fake_desc *desc;

	model_check(fake->requested);
	/* Who does not say how much it takes may be asked for more. */
	model_check(len <= (fake->dev.dma_parms ?
			    dma_get_max_seg_size(&fake->dev) : SZ_2M));
	model_check(is_dma_copy_aligned(&fake->device, dst, src, len));
	model_check(flags & DMA_PREP_INTERRUPT);
	if (fault(&fake->dev.faults.prep) ||
	    (fake->dev.max_len && len > fake->dev.max_len))
		return NULL;
	desc = calloc(1, sizeof(*desc));
	desc->fake = fake;
	desc->src = mapping_of(src);
	desc->dst = mapping_of(dst);
	desc->size = len;
	model_check(desc->src->dev == &fake->dev && desc->src->size == len &&
		    desc->src->dir == DMA_TO_DEVICE);
	model_check(desc->dst->dev == &fake->dev && desc->dst->size == len &&
		    desc->dst->dir == DMA_FROM_DEVICE);
	pthread_mutex_lock(&lock);
	fake->nr_used++;
	if (fake->pool && fake->nr_used > fake->pool) {
		desc_free(desc);
		desc = NULL;
	}
	pthread_mutex_unlock(&lock);
	return desc ? &desc->tx : NULL;
}

dma_cookie_t dmaengine_submit(struct dma_async_tx_descriptor *tx)
{
	struct fake_desc *desc = container_of(tx, struct fake_desc, tx);
	bool fails = fault(&desc->fake->dev.faults.submit);

	pthread_mutex_lock(&lock);
	if (fails) {
		desc_free(desc);
	} else {
		WRITE_ONCE(desc->fake->nr_descs, desc->fake->nr_descs + 1);
		desc->src->users++;
		desc->dst->users++;
		append(&desc->fake->submitted, desc);
	}
	pthread_mutex_unlock(&lock);
	return fails ? -EIO : 1;
}

void dma_async_issue_pending(struct dma_chan *chan)
{
	struct fake_chan *fake = fake_of(chan);
	struct fake_desc *desc;

	pthread_mutex_lock(&lock);
	for (desc = fake->submitted; desc && !fake->hung; desc = desc->next) {
		desc->work = &my_work;
		my_work++;
	}
	append(&fake->issued, fake->submitted);
	fake->submitted = NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* The device is at none of its memory any more. */
static void desc_leave(struct fake_desc *desc)
{
	__atomic_sub_fetch(&desc->src->users, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&desc->dst->users, 1, __ATOMIC_RELAXED);
}

static void drop_all(struct fake_desc **list)
{
	while (*list) {
		struct fake_desc *desc = *list;

		*list = desc->next;
		desc_no_work(desc);
		desc_leave(desc);
		desc_free(desc);
	}
}

int dmaengine_terminate_sync(struct dma_chan *chan)
{
	struct fake_chan *fake = fake_of(chan);

	pthread_mutex_lock(&lock);
	if (fake->terminate_fails) {
		fake->terminate_fails--;
		pthread_mutex_unlock(&lock);
		return -EBUSY;
	}
	WRITE_ONCE(fake->terminating, true);
	while (fake->running)
		pthread_cond_wait(&changed, &lock);
	drop_all(&fake->issued);
	drop_all(&fake->submitted);
	WRITE_ONCE(fake->terminating, false);
	fake->hung = false;
	fake->nr_terminated++;
	pthread_mutex_unlock(&lock);
	return 0;
}

void dmaengine_synchronize(struct dma_chan *chan)
{
	struct fake_chan *fake = fake_of(chan);

	model_check(!model_preempt_count);
	pthread_mutex_lock(&lock);
	while (fake->running && !fake->hung)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* ----- the device's side ----- */

static void desc_copy(struct fake_desc *desc)
{
	unsigned char *dst = desc->dst->bounce;

	memcpy(dst, desc->src->bounce, model_bytes(desc->size));
	if (desc->fake->wrong)
		dst[model_bytes(desc->size) - 1] ^= 1;
}

static void desc_done(struct fake_desc *desc, bool fails)
{
	struct dmaengine_result result = {
		.result = fails ? DMA_TRANS_WRITE_FAILED : DMA_TRANS_NOERROR,
	};

	desc_leave(desc);
	desc->tx.callback_result(desc->tx.callback_param, &result);
}

/* Writes what nobody asked for, until it is stopped. */
static void desc_hang(struct fake_desc *desc)
{
	struct fake_chan *fake = desc->fake;
	size_t at = 0, bytes = model_bytes(desc->size);
	struct fake_desc *next;

	pthread_mutex_lock(&lock);
	fake->hung = true;
	desc_no_work(desc);
	for (next = fake->issued; next; next = next->next)
		desc_no_work(next);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	while (!READ_ONCE(fake->terminating)) {
		((unsigned char *)desc->dst->bounce)[at++ % bytes] ^= 0xee;
		sched_yield();
	}
	if (fake->late) {
		desc_copy(desc);
		desc_done(desc, false);
	} else {
		desc_leave(desc);
	}
}

static void desc_run(struct fake_desc *desc)
{
	struct device *dev = &desc->fake->dev;

	while (READ_ONCE(desc->fake->held))
		sched_yield();
	if (fault(&dev->faults.hang) ||
	    (dev->hang_len && desc->size >= dev->hang_len)) {
		desc_hang(desc);
	} else if (fault(&desc->fake->dev.faults.result)) {
		memset(desc->dst->bounce, 0xdd, model_bytes(desc->size) / 2);
		desc_done(desc, true);
	} else {
		desc_copy(desc);
		desc_done(desc, false);
	}
}

static void *fake_thread(void *arg)
{
	struct fake_chan *fake = arg;

	pthread_mutex_lock(&lock);
	while (!fake->quit) {
		struct fake_desc *desc = fake->issued;

		if (!desc || fake->hung || fake->terminating) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		fake->issued = desc->next;
		fake->running = desc;
		pthread_mutex_unlock(&lock);
		desc_run(desc);
		pthread_mutex_lock(&lock);
		fake->running = NULL;
		desc_no_work(desc);
		desc_free(desc);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* ----- waiting ----- */

void init_completion(struct completion *c)
{
	c->done = 0;
}

void reinit_completion(struct completion *c)
{
	c->done = 0;
}

void complete(struct completion *c)
{
	pthread_mutex_lock(&lock);
	c->done++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

bool completion_done(struct completion *c)
{
	bool done;

	pthread_mutex_lock(&lock);
	done = c->done;
	pthread_mutex_unlock(&lock);
	return done;
}

unsigned long wait_for_completion_timeout(struct completion *c,
					  unsigned long timeout)
{
	unsigned long left = timeout ? timeout : 1;

	pthread_mutex_lock(&lock);
	while (!c->done && my_work)
		pthread_cond_wait(&changed, &lock);
	if (c->done) {
		c->done--;
	} else {
		jiffies += timeout;
		left = 0;
	}
	pthread_mutex_unlock(&lock);
	return left;
}

long schedule_timeout_uninterruptible(long timeout)
{
	model_check(!model_preempt_count);
	jiffies += timeout;
	sched_yield();
	return 0;
}

/* ----- channels ----- */

static int fake_terminate_all(struct dma_chan *chan)
{
	model_fail("stops a channel without waiting for it");
	return 0;
}

struct dma_chan *model_request_channel(dma_cap_mask_t mask,
				       bool (*filter)(struct dma_chan *, void *),
				       void *param)
{
	unsigned int i;

	model_check(mask == 1UL << DMA_MEMCPY);
	for (i = 0; i < nr_fakes; i++) {
		if (fakes[i].requested || !filter(&fakes[i].chan, param))
			continue;
		fakes[i].requested = true;
		return &fakes[i].chan;
	}
	return NULL;
}

void dma_release_channel(struct dma_chan *chan)
{
	struct fake_chan *fake = fake_of(chan);

	/* Whoever releases a channel may go: the last callback has returned then. */
	dmaengine_synchronize(chan);
	model_check(fake->requested);
	fake->requested = false;
}

struct device *dmaengine_get_dma_device(struct dma_chan *chan)
{
	return &fake_of(chan)->dev;
}

void fakes_start(unsigned int nr)
{
	unsigned int i;

	memset(fakes, 0, sizeof(fakes));
	for (i = 0; i < nr; i++) {
		struct fake_chan *fake = &fakes[i];

		snprintf(fake->name, sizeof(fake->name), "dma0chan%u", i);
		fake->chan.name = fake->name;
		fake->chan.device = &fake->device;
		fake->device.device_terminate_all = fake_terminate_all;
		fake->device.device_synchronize = dmaengine_synchronize;
		fake->dev.parms.max_segment_size = 1U << 30;
		fake->dev.dma_parms = &fake->dev.parms;
		fake->dev.max_mapping = SIZE_MAX;
		pthread_create(&fake->thread, NULL, fake_thread, fake);
	}
	nr_fakes = nr;
}

void fakes_stop(void)
{
	unsigned int i, nr_left = 0, nr = nr_fakes;

	for (i = 0; i < nr; i++) {
		struct fake_chan *fake = &fakes[i];

		pthread_mutex_lock(&lock);
		nr_left += fake->running || fake->issued || fake->submitted ||
			   fake->requested || fake->nr_used;
		fake->quit = true;
		/* After a test that failed there may be one that hangs. */
		WRITE_ONCE(fake->terminating, true);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		pthread_join(fake->thread, NULL);
	}
	nr_fakes = 0;
	/* Only now: a check that fails does not come back. */
	fake_nr_mapped = 0;
	nr_left += nr_mapped;
	nr_mapped = 0;
	model_check(!nr_left);
}
