/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/dma-mapping.h>; see dma-model.c. */
#ifndef _NATIVE_LINUX_DMA_MAPPING_H
#define _NATIVE_LINUX_DMA_MAPPING_H

#include <linux/mm.h>

typedef unsigned long dma_addr_t;

enum dma_data_direction {
	DMA_BIDIRECTIONAL,
	DMA_TO_DEVICE,
	DMA_FROM_DEVICE,
};

struct device_dma_parameters {
	unsigned int max_segment_size;
};

/* The so many-th from now on fails; 0: none, -1: every one. */
struct fake_faults {
	int map, prep, submit, result, hang;
};

struct device {
	struct device_dma_parameters *dma_parms;
	/* The model's own. */
	struct device_dma_parameters parms;
	size_t max_mapping;
	size_t max_len;			/* longer descriptors are refused, 0: none */
	size_t hang_len;		/* or hang, 0: none */
	unsigned int misaligned;	/* added to the addresses */
	bool direct;			/* no bouncing */
	struct fake_faults faults;
};

dma_addr_t dma_map_page(struct device *dev, struct page *page, size_t offset,
			size_t size, enum dma_data_direction dir);
int dma_mapping_error(struct device *dev, dma_addr_t addr);
void dma_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
		    enum dma_data_direction dir);
unsigned int dma_get_max_seg_size(struct device *dev);
size_t dma_max_mapping_size(struct device *dev);

#endif /* _NATIVE_LINUX_DMA_MAPPING_H */
