/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Substitute for <linux/mm.h> and what else describes a folio.  A "page" holds
 * MODEL_PAGE bytes, so that thousands of huge folios can be filled and compared
 * in no time; each folio's contents are a heap block of exactly its size, so that
 * AddressSanitizer sees a copy that goes too far.
 */
#ifndef _NATIVE_LINUX_MM_H
#define _NATIVE_LINUX_MM_H

#include <linux/list.h>
#include <linux/migrate_mode.h>
#include <linux/types.h>

#define MODEL_PAGE	16

struct folio;
struct address_space;

struct address_space_operations {
	int (*migrate_folio)(struct address_space *mapping, struct folio *dst,
			     struct folio *src, enum migrate_mode mode);
};

struct address_space {
	const struct address_space_operations *a_ops;
	bool inaccessible;
	bool shmem;
};

/* The kernel tells these by low bits of the mapping, and so does the model. */
#define MODEL_MAPPING_ANON	1UL
#define MODEL_MAPPING_MOVABLE	2UL
#define MODEL_MAPPING_FLAGS	3UL

struct folio {
	struct list_head lru;
	struct address_space *mapping;
	pgoff_t index;
	void *private;
	int refs;
	int mapcount;
	unsigned int order;
	int nid;
	bool hugetlb;
	bool swapcache;
	bool has_private;

	/* The model's own. */
	unsigned char *data;
	bool poisoned;		/* reading it is a machine check */
	bool buffer_held;	/* somebody holds one of its buffers */
	bool freeze_fails;	/* its references cannot be frozen, once */
	unsigned int nr_reads;	/* times somebody began to copy from it */
	unsigned int nr_writes;	/* times somebody began to copy to it */
};

/* Where a folio in the swap cache says that it is. */
extern struct address_space model_swap_space;

static inline unsigned long model_mapping_flags(const struct folio *folio)
{
	return (unsigned long)folio->mapping & MODEL_MAPPING_FLAGS;
}

static inline unsigned long folio_nr_pages(const struct folio *folio)
{
	return 1UL << folio->order;
}

static inline int folio_ref_count(const struct folio *folio)
{
	return folio->refs;
}

static inline bool folio_test_hugetlb(const struct folio *folio)
{
	return folio->hugetlb;
}

static inline bool folio_test_anon(const struct folio *folio)
{
	return model_mapping_flags(folio) & MODEL_MAPPING_ANON;
}

static inline bool __folio_test_movable(const struct folio *folio)
{
	return model_mapping_flags(folio) == MODEL_MAPPING_MOVABLE;
}

static inline struct address_space *folio_mapping(const struct folio *folio)
{
	if (folio->swapcache)
		return &model_swap_space;
	return model_mapping_flags(folio) ? NULL : folio->mapping;
}

/* One for each place that the kernel itself remembers the folio in. */
static inline int folio_expected_ref_count(const struct folio *folio)
{
	int refs = folio->mapcount;

	if (folio->swapcache)
		refs += folio_nr_pages(folio);
	if (!folio_test_anon(folio)) {
		if (folio->mapping)
			refs += folio_nr_pages(folio);
		if (folio->has_private)
			refs++;
	}
	return refs;
}

static inline bool shmem_mapping(const struct address_space *mapping)
{
	return mapping->shmem;
}

static inline bool mapping_inaccessible(const struct address_space *mapping)
{
	return mapping->inaccessible;
}

#define folio_buffers(folio)	((folio)->private)

static inline int folio_nid(const struct folio *folio)
{
	return folio->nid;
}

/*
 * A page is known by where its contents are.  Folios are contiguous if these are,
 * which those of the heap are not.
 */
struct page;

static inline struct page *folio_page(const struct folio *folio, size_t nr)
{
	return (struct page *)(folio->data + nr * MODEL_PAGE);
}

#define pfn_to_page(pfn)	((struct page *)((pfn) * MODEL_PAGE))

static inline unsigned long folio_pfn(const struct folio *folio)
{
	return (unsigned long)folio->data / MODEL_PAGE;
}

/* Of the tests that need it. */
int copy_mc_highpage(struct page *to, struct page *from);

static inline size_t folio_size(const struct folio *folio)
{
	return folio_nr_pages(folio) * MODEL_PAGE;
}

static inline void *folio_address(const struct folio *folio)
{
	return folio->data;
}

static inline void folio_zero_range(struct folio *folio, size_t start,
				    size_t length)
{
	memset(folio->data + start, 0, length);
}

int folio_mc_copy(struct folio *dst, struct folio *src);

int migrate_folio(struct address_space *mapping, struct folio *dst,
		  struct folio *src, enum migrate_mode mode);
int filemap_migrate_folio(struct address_space *mapping, struct folio *dst,
			  struct folio *src, enum migrate_mode mode);
int buffer_migrate_folio(struct address_space *mapping, struct folio *dst,
			 struct folio *src, enum migrate_mode mode);
int buffer_migrate_folio_norefs(struct address_space *mapping,
				struct folio *dst, struct folio *src,
				enum migrate_mode mode);

#endif /* _NATIVE_LINUX_MM_H */
