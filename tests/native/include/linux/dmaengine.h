/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/dmaengine.h>; see dma-model.c. */
#ifndef _NATIVE_LINUX_DMAENGINE_H
#define _NATIVE_LINUX_DMAENGINE_H

#include <linux/dma-mapping.h>

struct dma_chan;

struct dma_device {
	unsigned int copy_align;
	int (*device_terminate_all)(struct dma_chan *chan);
	void (*device_synchronize)(struct dma_chan *chan);
};

struct dma_chan {
	struct dma_device *device;
	const char *name;
};

enum dmaengine_tx_result {
	DMA_TRANS_NOERROR,
	DMA_TRANS_READ_FAILED,
	DMA_TRANS_WRITE_FAILED,
	DMA_TRANS_ABORTED,
};

struct dmaengine_result {
	enum dmaengine_tx_result result;
	u32 residue;
};

struct dma_async_tx_descriptor {
	void (*callback_result)(void *param,
				const struct dmaengine_result *result);
	void *callback_param;
};

typedef int dma_cookie_t;
typedef unsigned long dma_cap_mask_t;

#define DMA_MEMCPY		0
#define DMA_PREP_INTERRUPT	1
#define DMA_CTRL_ACK		2

#define dma_cap_zero(mask)	((mask) = 0)
#define dma_cap_set(cap, mask)	((mask) |= 1UL << (cap))
#define dma_submit_error(cookie)	((cookie) < 0)
#define dma_chan_name(chan)	((chan)->name)
#define dma_request_channel(mask, filter, param) \
	model_request_channel(mask, filter, param)

static inline bool is_dma_copy_aligned(struct dma_device *dev, size_t a,
				       size_t b, size_t len)
{
	return !((a | b | len) & ((1UL << dev->copy_align) - 1));
}

struct dma_chan *model_request_channel(dma_cap_mask_t mask,
				       bool (*filter)(struct dma_chan *, void *),
				       void *param);
void dma_release_channel(struct dma_chan *chan);
struct device *dmaengine_get_dma_device(struct dma_chan *chan);
struct dma_async_tx_descriptor *
dmaengine_prep_dma_memcpy(struct dma_chan *chan, dma_addr_t dst,
			  dma_addr_t src, size_t len, unsigned long flags);
dma_cookie_t dmaengine_submit(struct dma_async_tx_descriptor *tx);
void dma_async_issue_pending(struct dma_chan *chan);
void dmaengine_synchronize(struct dma_chan *chan);
int dmaengine_terminate_sync(struct dma_chan *chan);

#endif /* _NATIVE_LINUX_DMAENGINE_H */
