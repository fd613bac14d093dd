/* SPDX-License-Identifier: GPL-2.0 */
/* Substitute for <linux/list.h>: as much of a list as is walked here. */
#ifndef _NATIVE_LINUX_LIST_H
#define _NATIVE_LINUX_LIST_H

#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	struct list_head *last = head->prev;

	node->prev = last;
	node->next = head;
	last->next = node;
	head->prev = node;
}

/* Poisons the node, so that whoever still walks over it is found out. */
static inline void list_del(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
	node->next = NULL;
	node->prev = NULL;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member) \
	(&(pos)->member == (head))
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_first_entry(head, __typeof__(*(pos)), member);	\
	     !list_entry_is_head(pos, head, member);			\
	     pos = list_next_entry(pos, member))

static inline void list_cut_position(struct list_head *list,
				     struct list_head *head,
				     struct list_head *entry)
{
	struct list_head *rest = entry->next;

	list->next = head->next;
	list->next->prev = list;
	list->prev = entry;
	entry->next = list;
	head->next = rest;
	rest->prev = head;
}

static inline void list_splice_init(struct list_head *list,
				    struct list_head *head)
{
	if (list->next == list)
		return;
	list->prev->next = head->next;
	head->next->prev = list->prev;
	head->next = list->next;
	list->next->prev = head;
	list->next = list;
	list->prev = list;
}

#endif /* _NATIVE_LINUX_LIST_H */
