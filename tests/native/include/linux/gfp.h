/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/gfp.h>: the flags that are asked for here, and only these. */
#ifndef _NATIVE_LINUX_GFP_H
#define _NATIVE_LINUX_GFP_H

#include <linux/bits.h>

#define __GFP_DIRECT_RECLAIM	BIT(0)
#define __GFP_KSWAPD_RECLAIM	BIT(1)
#define __GFP_NOWARN		BIT(2)
#define __GFP_NOMEMALLOC	BIT(3)
#define __GFP_ZERO		BIT(4)
#define __GFP_NORETRY		BIT(5)
#define __GFP_THISNODE		BIT(6)
#define ___GFP_UNUSED_BIT	7
#define GFP_NOWAIT		(__GFP_KSWAPD_RECLAIM | __GFP_NOWARN)
#define GFP_KERNEL		(__GFP_KSWAPD_RECLAIM | __GFP_DIRECT_RECLAIM)

struct folio;

struct folio *folio_alloc(gfp_t gfp, unsigned int order);
struct folio *__folio_alloc_node(gfp_t gfp, unsigned int order, int nid);
void folio_put(struct folio *folio);
bool want_init_on_alloc(gfp_t gfp);
bool want_init_on_free(void);

#endif /* _NATIVE_LINUX_GFP_H */
