// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: the engines, which of them is in use, and the one that is always
 * there.
 *
 * Two locks.  foliolift_lock (a mutex, taken first) serialises registration and
 * selection; foliolift_srcu is what a batch holds while it is in an engine.
 * Nothing on the migration path takes the mutex.  Patching code takes
 * cpus_read_lock() inside it, so engines cannot be changed, nor foliolift switched on
 * or off, from CPU hotplug callbacks, nor from anything that an engine waits for.
 */
#include "deps.h"
#include "internal.h"
#include "overwrite.h"

/* No batch has so many pages: with this as the minimum the door is shut. */
#define FOLIOLIFT_SHUT	ULONG_MAX

/* A single page gains nothing from being copied a moment earlier. */
#define FOLIOLIFT_CPU_MIN_PAGES	2

DEFINE_STATIC_KEY_FALSE(foliolift_key);
DEFINE_STATIC_CALL(foliolift_copy, foliolift_cpu_copy);
DEFINE_STATIC_SRCU(foliolift_srcu);

static struct foliolift_engine foliolift_cpu = {
	.name = "cpu",
	.role = FOLIOLIFT_ROLE_CPU,
	.min_pages = FOLIOLIFT_CPU_MIN_PAGES,
	.copy = foliolift_cpu_copy,
};

/* Serialises registration and selection; see above. */
DEFINE_MUTEX(foliolift_lock);

/* Registered engines by role; written and read under foliolift_lock. */
struct foliolift_engine *foliolift_engines[FOLIOLIFT_NR_ROLES] = {
	[FOLIOLIFT_ROLE_CPU] = &foliolift_cpu,
};

/*
 * The engine that the static call leads to.  Written under foliolift_lock while
 * the door is shut; read inside the door, or under the lock.
 */
static struct foliolift_engine *foliolift_selected = &foliolift_cpu;

/* How often the call was patched.  Written under foliolift_lock. */
static unsigned long foliolift_nr_switches;

/* The door: the smallest batch that goes to the selected engine, in pages. */
static unsigned long foliolift_min_pages = FOLIOLIFT_CPU_MIN_PAGES;

/**
 * foliolift_cpu_copy() - Copy a batch on the calling CPU.
 * @batch:	The batch.
 *
 * The default engine.  Recovers from a machine check on a source where the
 * architecture can, and then reports that folio alone as poisoned.
 *
 * Context: Process context.  May reschedule.
 * Return: 0, always.
 */
int foliolift_cpu_copy(const struct foliolift_batch *batch)
{
	struct foliolift_segment *seg = batch->segments;
	struct foliolift_segment *end = seg + batch->nr_segments;

	for (; seg < end; seg++) {
		seg->status = folio_mc_copy(seg->dst, seg->src);
		cond_resched();
	}
	return 0;
}

/**
 * foliolift_enter() - Go to the selected engine, if it takes such a batch.
 * @nr_pages:	Base pages of the batch.
 * @idx:	Filled in for foliolift_exit(), whatever is returned.
 *
 * Until foliolift_exit() the engine stays what it is and its code stays loaded,
 * and static_call(foliolift_copy) leads to it.
 *
 * Context: Process context.  Enters an SRCU read-side section.
 * Return: The engine, or NULL if this batch is to be left to the move step.
 */
const struct foliolift_engine *foliolift_enter(unsigned long nr_pages, int *idx)
	__acquires(&foliolift_srcu)
{
	*idx = srcu_read_lock(&foliolift_srcu);

	/*
	 * Pairs with the release in foliolift_switch(): whoever finds the door
	 * open sees the engine and the call that were put in place behind it.
	 */
	if (nr_pages < smp_load_acquire(&foliolift_min_pages))
		return NULL;
	return READ_ONCE(foliolift_selected);
}

/**
 * foliolift_exit() - Leave the engine.
 * @idx:	From foliolift_enter().
 */
void foliolift_exit(int idx)
	__releases(&foliolift_srcu)
{
	srcu_read_unlock(&foliolift_srcu, idx);
}

/*
 * Send batches to @to from now on, and return when none is in the engine that
 * it replaces.  Batches that come by meanwhile are copied by the move step.  The
 * call is patched with nobody inside, so that a batch can be counted for the
 * engine that really copied it.
 */
static void foliolift_switch(struct foliolift_engine *to)
{
	struct foliolift_engine *from = foliolift_selected;

	lockdep_assert_held(&foliolift_lock);
	WRITE_ONCE(foliolift_min_pages, FOLIOLIFT_SHUT);
	synchronize_srcu(&foliolift_srcu);
	static_call_update(foliolift_copy, to->copy);
	WRITE_ONCE(foliolift_selected, to);
	WRITE_ONCE(foliolift_nr_switches, foliolift_nr_switches + 1);
	/* Pairs with the acquire in foliolift_enter(). */
	smp_store_release(&foliolift_min_pages,
			  max_t(unsigned long, to->min_pages, 1));
	module_put(from->owner);
}

static struct foliolift_engine *foliolift_find(const char *name)
{
	int role;

	lockdep_assert_held(&foliolift_lock);
	for (role = 0; role < FOLIOLIFT_NR_ROLES; role++) {
		struct foliolift_engine *engine = foliolift_engines[role];

		if (engine && sysfs_streq(engine->name, name))
			return engine;
	}
	return NULL;
}

/**
 * foliolift_use() - Have an engine copy from now on.
 * @engine:	A registered engine.
 * @min_pages:	Batches of fewer pages do not go to it.
 *
 * Context: Process context, with foliolift_lock held.  If the engine changes, waits for
 * the batches that are in the one used so far.
 * Return: 0, or -ENODEV if the engine's module is going away.
 */
int foliolift_use(struct foliolift_engine *engine, unsigned long min_pages)
{
	lockdep_assert_held(&foliolift_lock);
	if (engine != foliolift_selected) {
		if (!try_module_get(engine->owner))
			return -ENODEV;
		foliolift_switch(engine);
	}
	/* Pairs with the acquire in foliolift_enter(), as in foliolift_switch(). */
	smp_store_release(&foliolift_min_pages,
			  clamp(min_pages, 1, FOLIOLIFT_SHUT - 1));
	return 0;
}

/**
 * foliolift_select_engine() - Choose the engine that copies.
 * @name:	Name of a registered engine, or "auto" to have the policy choose; a newline
 *		at the end is allowed.
 *
 * The selected engine's module is pinned until another engine is selected.
 *
 * Context: Process context.  Takes foliolift_lock; waits for the batches that
 * are in the engine used so far.
 * Return: 0, or -ENODEV if no such engine is registered or it is going away.
 */
int foliolift_select_engine(const char *name)
{
	struct foliolift_engine *engine;
	int err;

	guard(mutex)(&foliolift_lock);
	if (sysfs_streq(name, "auto")) {
		foliolift_auto_begin();
		return 0;
	}
	engine = foliolift_find(name);
	if (!engine)
		return -ENODEV;
	err = foliolift_use(engine, engine->min_pages);
	if (!err)
		foliolift_auto_end();
	return err;
}

/**
 * foliolift_set_enabled() - Switch the copy stage on or off.
 * @on:	Which.
 *
 * What was copied before stays copied: a batch under way is not disturbed.
 *
 * Context: Process context.  Takes foliolift_lock; patches code.
 */
void foliolift_set_enabled(bool on)
{
	guard(mutex)(&foliolift_lock);
	if (on == static_key_enabled(&foliolift_key))
		return;
	if (on) {
		/* First, so that no destination goes unzeroed unknown to the move. */
		static_branch_enable(&foliolift_was_on_key);
		static_branch_enable(&foliolift_key);
		foliolift_auto_kick();
	} else {
		static_branch_disable(&foliolift_key);
	}
}

/**
 * foliolift_get_switches() - How often the static call was patched.
 *
 * Return: Times since boot, whoever asked for it.
 */
unsigned long foliolift_get_switches(void)
{
	return READ_ONCE(foliolift_nr_switches);
}

/* What was chosen, for sysfs. */
ssize_t foliolift_show_selected(char *buf)
{
	guard(mutex)(&foliolift_lock);
	return sysfs_emit(buf, "%s\n", foliolift_auto_on() ? "auto" :
					foliolift_selected->name);
}

/* The name of the engine that copies, for sysfs. */
ssize_t foliolift_show_active(char *buf)
{
	guard(mutex)(&foliolift_lock);
	return sysfs_emit(buf, "%s\n", foliolift_selected->name);
}

/* The names that can be chosen, for sysfs. */
ssize_t foliolift_show_available(char *buf)
{
	ssize_t len = 0;
	int role;

	guard(mutex)(&foliolift_lock);
	for (role = 0; role < FOLIOLIFT_NR_ROLES; role++)
		if (foliolift_engines[role])
			len += sysfs_emit_at(buf, len, "%s%s", len ? " " : "",
					     foliolift_engines[role]->name);
	return len + sysfs_emit_at(buf, len, " auto\n");
}

static bool foliolift_name_ok(const char *name)
{
	size_t len = name ? strnlen(name, FOLIOLIFT_NAME_LEN) : 0;

	/* Not islower(): for the kernel that is Latin-1, and paths are not. */
	return len && len < FOLIOLIFT_NAME_LEN && strcmp(name, "auto") &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

/**
 * foliolift_register_engine() - Offer an engine.
 * @engine:	The engine.  The caller keeps it, unchanged, until
 *		foliolift_unregister_engine() has returned.
 *
 * The engine can be selected from then on, by name or by the policy, which first has it
 * measured.
 *
 * Context: Process context.  Takes foliolift_lock.
 * Return: 0; -EINVAL if a name, a role other than the CPU's or the copy function
 * is missing or wrong, or the one to set a width; -EBUSY if the role or the name is
 * taken; -ENODEV if foliolift could not come up; -ENOMEM.
 */
int foliolift_register_engine(struct foliolift_engine *engine)
{
	int err;

	if (!engine || !engine->copy || !foliolift_name_ok(engine->name) ||
	    (engine->max_width > 1 && !engine->set_width) ||
	    engine->role <= FOLIOLIFT_ROLE_CPU ||
	    engine->role >= FOLIOLIFT_NR_ROLES)
		return -EINVAL;

	guard(mutex)(&foliolift_lock);
	if (foliolift_engines[engine->role] || foliolift_find(engine->name))
		return -EBUSY;
	err = foliolift_sysfs_add_engine(engine);
	if (err)
		return err;
	foliolift_engines[engine->role] = engine;
	foliolift_speed_forget(engine);
	foliolift_auto_kick();
	return 0;
}
EXPORT_SYMBOL_GPL(foliolift_register_engine);

/**
 * foliolift_unregister_engine() - Withdraw an engine.
 * @engine:	An engine that is registered.  One that is not, or NULL, is left
 *		alone, so that a driver may call this on every way out.
 *
 * If the engine is the one that copies, "cpu" does instead.  On return no
 * batch is in the engine and none will come.
 *
 * Context: Process context, not from inside an engine's copy function.  Takes
 * foliolift_lock; waits for the batches that are in the engine.
 */
void foliolift_unregister_engine(struct foliolift_engine *engine)
{
	guard(mutex)(&foliolift_lock);
	if (!engine || engine->role <= FOLIOLIFT_ROLE_CPU ||
	    engine->role >= FOLIOLIFT_NR_ROLES ||
	    foliolift_engines[engine->role] != engine)
		return;

	foliolift_engines[engine->role] = NULL;
	if (foliolift_selected == engine)
		foliolift_switch(&foliolift_cpu);
	foliolift_speed_forget(engine);
	foliolift_sysfs_remove_engine(engine);
}
EXPORT_SYMBOL_GPL(foliolift_unregister_engine);

#include "tests/engine-kunit.h"
