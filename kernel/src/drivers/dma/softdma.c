// SPDX-License-Identifier: GPL-2.0
/*
 * A DMA engine in software: copies memory, one thread a channel
 *
 * For tests of clients where there is no DMA device, or none that fails when it
 * should.  It looks like hardware from outside: clients map their buffers for its
 * device, descriptors are carried out behind their backs, and it can be told in
 * /sys/kernel/debug/softdma to be slow, to fail and to hang.  What a client gets
 * wrong, it punishes: see Documentation/driver-api/dmaengine/softdma.rst.
 *
 * Locking: a channel's lists, cookies and the fields of struct softdma_chan are under
 * its vc.lock, which is taken with interrupts off and under which nothing else is
 * locked.  The memory itself is touched by the channel's thread only, without a lock,
 * so whoever wants it left alone sets @stop and waits for the thread to clear it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/llist.h>
#include <linux/math64.h>
#include <linux/memory_hotplug.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "dmaengine.h"
#include "virt-dma.h"

#define SOFTDMA_MAX_CHANNELS	32
/* So many cookies back tx_status() still knows which ended badly. */
#define SOFTDMA_HISTORY		4096
/* What it writes where a client must not look. */
#define SOFTDMA_GARBAGE		0xde
/* Time between two strokes of garbage. */
#define SOFTDMA_STROKE_NS	NSEC_PER_MSEC
/* Less than this is not worth a sleep: the next piece pays for it. */
#define SOFTDMA_MIN_SLEEP_NS	(50 * NSEC_PER_USEC)
/* So much of the time that a sleep lasted too long is made up for. */
#define SOFTDMA_CREDIT_NS	(5 * NSEC_PER_MSEC)
/* So soon a sleeping channel sees that the bandwidth was changed. */
#define SOFTDMA_MAX_SLEEP_NS	(100 * NSEC_PER_MSEC)

static unsigned int channels = 4;
module_param(channels, uint, 0444);
MODULE_PARM_DESC(channels, "Number of channels, 1 to 32 (default: 4)");

static unsigned int max_segment;
module_param(max_segment, uint, 0444);
MODULE_PARM_DESC(max_segment, "Bytes of the longest descriptor (default: 0, no limit)");

static unsigned int align_shift;
module_param(align_shift, uint, 0444);
MODULE_PARM_DESC(align_shift, "Addresses and lengths are multiples of 2^align_shift bytes, 0 to 8 (default: 0)");

/* ----- what it is told, and what it counts; each a file of its own ----- */

static struct {
	u64 bandwidth;		/* bytes a second of each channel; 0: no limit */
	u32 latency_us;		/* before the first byte of a descriptor */
	/* strike where a descriptor's number is a multiple; 0: never */
	u32 refuse_nth;
	u32 hang_nth;
	u32 lost_nth;
	u32 error_nth;
	u32 late_us;		/* goes on writing for so long after terminate_all() */
	u32 channel_mask;	/* the channels that fail */
} knobs = { .channel_mask = ~0 };

static struct {
	atomic64_t descriptors;	/* begun */
	atomic64_t bytes;	/* copied */
	atomic64_t refused;	/* not prepared, whatever the reason */
	atomic64_t hangs;
	atomic64_t lost;
	atomic64_t errors;
	atomic64_t terminated;	/* by clients, begun or not */
	atomic64_t inflight;	/* prepared and not yet done with */
} counts;

/* One more each time that the channels are to count from 1 again. */
static atomic_t numbering = ATOMIC_INIT(0);

/* ----- channels and descriptors ----- */

struct softdma_desc {
	struct virt_dma_desc vd;
	phys_addr_t dst;
	phys_addr_t src;
	size_t len;
	size_t done;		/* written by the thread, read without a lock */
	u32 number;
};

/**
 * struct softdma_chan - a channel
 * @vc: cookies and lists; a descriptor that the thread works on is on none of them
 * @sd: the device
 * @thread: copies; there from a client's request for the channel to its release
 * @wait: the thread waits here for work or a stop, and others for the thread
 * @cur: what the thread works on
 * @stop: @cur has been terminated, and the thread has not yet let go of it
 * @drain: so many are waiting for that, so that the thread hurries
 * @index: number of the channel
 * @number: of the descriptor that was prepared last
 * @numbering: the value of the variable of that name that @number belongs to
 * @due: by the bandwidth, what has been copied so far is finished then (thread only)
 * @failed: a bit for each of the last cookies: it ended badly
 */
struct softdma_chan {
	struct virt_dma_chan vc;
	struct softdma *sd;
	struct task_struct *thread;
	wait_queue_head_t wait;
	struct softdma_desc *cur;
	bool stop;
	unsigned int drain;
	unsigned int index;
	u32 number;
	int numbering;
	ktime_t due;
	DECLARE_BITMAP(failed, SOFTDMA_HISTORY);
};

/**
 * struct softdma - the device
 * @dma: what the DMA engine core knows of it
 * @gone: its driver was unbound: nothing is prepared any more, what was issued is aborted
 * @dead: links it to others that wait to be freed
 * @nr_chans: number of channels
 * @chans: the channels
 */
struct softdma {
	struct dma_device dma;
	bool gone;
	struct llist_node dead;
	unsigned int nr_chans;
	struct softdma_chan chans[] __counted_by(nr_chans);
};

static struct softdma_chan *to_softdma_chan(struct dma_chan *chan)
{
	return container_of(chan, struct softdma_chan, vc.chan);
}

static struct softdma_desc *to_softdma_desc(struct virt_dma_desc *vd)
{
	return container_of(vd, struct softdma_desc, vd);
}

static void softdma_desc_free(struct virt_dma_desc *vd)
{
	kfree(to_softdma_desc(vd));
	atomic64_dec(&counts.inflight);
}

/* Is it this descriptor's turn to fail in the way of @nth? */
static bool softdma_strikes(struct softdma_chan *c, u32 number, u32 nth)
{
	return nth && number % nth == 0 &&
	       READ_ONCE(knobs.channel_mask) & BIT(c->index);
}

/* Remember how @cookie ended; under vc.lock. */
static void softdma_note(struct softdma_chan *c, dma_cookie_t cookie, bool failed)
{
	__assign_bit(cookie % SOFTDMA_HISTORY, c->failed, failed);
}

static bool softdma_noted(struct softdma_chan *c, dma_cookie_t cookie)
{
	return c->vc.chan.cookie - cookie < SOFTDMA_HISTORY &&
	       test_bit(cookie % SOFTDMA_HISTORY, c->failed);
}

/* ----- the thread: time ----- */

static bool softdma_stopped(struct softdma_chan *c)
{
	return READ_ONCE(c->stop) || READ_ONCE(c->sd->gone);
}

/* Sleep for @ns, or until the descriptor is terminated. */
static void softdma_pause(struct softdma_chan *c, u64 ns)
{
	wait_event_interruptible_hrtimeout(c->wait, softdma_stopped(c),
					   ns_to_ktime(ns));
}

/* Time in which there was nothing to copy is not made up for. */
static void softdma_no_credit(struct softdma_chan *c)
{
	ktime_t now = ktime_get();

	if (ktime_before(c->due, now))
		c->due = now;
}

/* Wait as long as a channel of that bandwidth would have taken for @bytes. */
static void softdma_pace(struct softdma_chan *c, size_t bytes)
{
	u64 rate = READ_ONCE(knobs.bandwidth);
	ktime_t now, oldest;
	s64 debt;

	if (!rate)
		return;
	now = ktime_get();
	oldest = ktime_sub_ns(now, SOFTDMA_CREDIT_NS);
	if (ktime_before(c->due, oldest))
		c->due = oldest;
	c->due = ktime_add_ns(c->due, div64_u64(bytes * NSEC_PER_SEC, rate));

	while (!softdma_stopped(c)) {
		debt = ktime_to_ns(ktime_sub(c->due, now));
		if (debt < SOFTDMA_MIN_SLEEP_NS)
			break;
		softdma_pause(c, min_t(u64, debt, SOFTDMA_MAX_SLEEP_NS));
		now = ktime_get();
		if (READ_ONCE(knobs.bandwidth) != rate)
			c->due = now;
	}
}

/* ----- the thread: memory ----- */

static void *softdma_map(phys_addr_t addr)
{
	return kmap_local_page(pfn_to_page(PHYS_PFN(addr))) + offset_in_page(addr);
}

/* What of @len bytes at @addr is in one page. */
static size_t softdma_piece(phys_addr_t addr, size_t len)
{
	return min_t(size_t, len, PAGE_SIZE - offset_in_page(addr));
}

/* Copy on to byte @end unless stopped; false if the source cannot be read. */
static bool softdma_copy(struct softdma_chan *c, struct softdma_desc *d, size_t end)
{
	while (d->done < end && !softdma_stopped(c)) {
		phys_addr_t src = d->src + d->done, dst = d->dst + d->done;
		size_t n = softdma_piece(dst, softdma_piece(src, end - d->done));
		void *from = softdma_map(src), *to = softdma_map(dst);
		unsigned long left = copy_mc_to_kernel(to, from, n);

		kunmap_local(to);
		kunmap_local(from);
		if (left)
			return false;
		WRITE_ONCE(d->done, d->done + n);
		atomic64_add(n, &counts.bytes);
		softdma_pace(c, n);
		cond_resched();
	}
	return true;
}

/* Whoever takes the first @end bytes of the destination for valid shall see it. */
static void softdma_spoil(struct softdma_desc *d, size_t end)
{
	size_t at, n;

	for (at = 0; at < end; at += n) {
		void *to = softdma_map(d->dst + at);

		n = softdma_piece(d->dst + at, end - at);
		memset(to, SOFTDMA_GARBAGE, n);
		kunmap_local(to);
		cond_resched();
	}
}

/*
 * Hang.  A client that gives up and copies by itself before it has stopped the channel
 * finds garbage, whenever it does so: again and again until then, and once more after.
 */
static void softdma_hang(struct softdma_chan *c, struct softdma_desc *d)
{
	for (;;) {
		bool last = softdma_stopped(c);

		softdma_spoil(d, d->done);
		if (last)
			return;
		softdma_pause(c, SOFTDMA_STROKE_NS);
	}
}

/*
 * Write on although terminated, as a device with a long pipe does.  It is to have
 * stopped when device_synchronize() returns, and not before: that cuts it short, but
 * comes after the last stroke.
 */
static void softdma_linger(struct softdma_chan *c, struct softdma_desc *d)
{
	ktime_t end = ktime_add_us(ktime_get(), READ_ONCE(knobs.late_us));

	for (;;) {
		bool last = READ_ONCE(c->drain) || READ_ONCE(c->sd->gone) ||
			    ktime_after(ktime_get(), end);

		softdma_spoil(d, d->len);
		if (last)
			return;
		wait_event_interruptible_hrtimeout(c->wait,
						   READ_ONCE(c->drain) ||
						   READ_ONCE(c->sd->gone),
						   ns_to_ktime(SOFTDMA_STROKE_NS));
	}
}

/* ----- the thread: descriptors ----- */

static struct softdma_desc *softdma_begin(struct softdma_chan *c)
{
	struct virt_dma_desc *vd;

	spin_lock_irq(&c->vc.lock);
	vd = vchan_next_desc(&c->vc);
	if (vd) {
		list_del(&vd->node);
		c->cur = to_softdma_desc(vd);
		WRITE_ONCE(c->cur->done, 0);
	}
	spin_unlock_irq(&c->vc.lock);
	if (!vd)
		return NULL;
	atomic64_inc(&counts.descriptors);
	return to_softdma_desc(vd);
}

/* Do with @d what is to be done; the value is how it ended, if it was not terminated. */
static enum dmaengine_tx_result softdma_carry_out(struct softdma_chan *c,
						  struct softdma_desc *d)
{
	size_t half = DIV_ROUND_UP(d->len, 2);
	u32 latency = READ_ONCE(knobs.latency_us);
	bool readable = true;

	if (latency) {
		softdma_pause(c, latency * (u64)NSEC_PER_USEC);
		softdma_no_credit(c);
	}
	if (softdma_strikes(c, d->number, READ_ONCE(knobs.hang_nth))) {
		readable = softdma_copy(c, d, half);
		if (readable && !softdma_stopped(c)) {
			atomic64_inc(&counts.hangs);
			softdma_hang(c, d);
		}
	} else if (softdma_strikes(c, d->number, READ_ONCE(knobs.lost_nth))) {
		readable = softdma_copy(c, d, d->len);
		if (readable && !softdma_stopped(c)) {
			atomic64_inc(&counts.lost);
			wait_event_idle(c->wait, softdma_stopped(c));
		}
	} else if (softdma_strikes(c, d->number, READ_ONCE(knobs.error_nth))) {
		if (!softdma_stopped(c)) {
			softdma_spoil(d, half);
			readable = false;
		}
	} else {
		readable = softdma_copy(c, d, d->len);
	}

	if (READ_ONCE(c->stop) && READ_ONCE(knobs.late_us))
		softdma_linger(c, d);
	if (!readable) {
		atomic64_inc(&counts.errors);
		return DMA_TRANS_READ_FAILED;
	}
	/* Of a device that is gone nobody can say whether the last bytes arrived. */
	return READ_ONCE(c->sd->gone) ? DMA_TRANS_ABORTED : DMA_TRANS_NOERROR;
}

static void softdma_end(struct softdma_chan *c, struct softdma_desc *d,
			enum dmaengine_tx_result result)
{
	bool failed = result != DMA_TRANS_NOERROR;

	spin_lock_irq(&c->vc.lock);
	c->cur = NULL;
	if (c->stop) {
		vchan_terminate_vdesc(&d->vd);
		WRITE_ONCE(c->stop, false);
	} else {
		d->vd.tx_result.result = result;
		d->vd.tx_result.residue = failed ? d->len - d->done : 0;
		softdma_note(c, d->vd.tx.cookie, failed);
		vchan_cookie_complete(&d->vd);
	}
	spin_unlock_irq(&c->vc.lock);
	wake_up_all(&c->wait);
}

static int softdma_thread(void *data)
{
	struct softdma_chan *c = data;
	struct softdma_desc *d;

	while (!kthread_should_stop()) {
		d = softdma_begin(c);
		if (d) {
			softdma_end(c, d, softdma_carry_out(c, d));
			continue;
		}
		wait_event_idle(c->wait, kthread_should_stop() ||
				!list_empty(&c->vc.desc_issued));
		softdma_no_credit(c);
	}
	return 0;
}

/* ----- what clients call ----- */

/* Is all of it ordinary memory? */
static bool softdma_is_memory(phys_addr_t addr, size_t len)
{
	unsigned long pfn = PHYS_PFN(addr), last = PHYS_PFN(addr + len - 1);

	if (addr + len < addr)
		return false;
	/* Memory comes and goes by 2 MB at the least. */
	for (; pfn <= last; pfn = ALIGN_DOWN(pfn, PHYS_PFN(SZ_2M)) + PHYS_PFN(SZ_2M))
		if (!pfn_to_online_page(pfn))
			return false;
	return true;
}

static bool softdma_acceptable(struct softdma_chan *c, dma_addr_t dst, dma_addr_t src,
			       size_t len)
{
	struct device *dev = c->sd->dma.dev;

	if (!len || len > dma_get_max_seg_size(dev)) {
		dev_err_ratelimited(dev, "refused %zu bytes: a descriptor has 1 to %u\n",
				    len, dma_get_max_seg_size(dev));
		return false;
	}
	if (!is_dma_copy_aligned(&c->sd->dma, src, dst, len)) {
		dev_err_ratelimited(dev, "refused %pad to %pad, %zu bytes: not aligned to %u\n",
				    &src, &dst, len, 1u << align_shift);
		return false;
	}
	if (!softdma_is_memory(dma_to_phys(dev, src), len) ||
	    !softdma_is_memory(dma_to_phys(dev, dst), len)) {
		dev_err_ratelimited(dev, "refused %pad to %pad, %zu bytes: not memory\n",
				    &src, &dst, len);
		return false;
	}
	return true;
}

/* Refused ones have a number too, or the next would be refused in its place. */
static u32 softdma_next_number(struct softdma_chan *c)
{
	int now = atomic_read(&numbering);
	unsigned long flags;
	u32 number;

	spin_lock_irqsave(&c->vc.lock, flags);
	if (c->numbering != now) {
		c->numbering = now;
		c->number = 0;
	}
	number = ++c->number;
	spin_unlock_irqrestore(&c->vc.lock, flags);
	return number;
}

static struct dma_async_tx_descriptor *
softdma_prep_memcpy(struct dma_chan *chan, dma_addr_t dst, dma_addr_t src, size_t len,
		    unsigned long flags)
{
	struct softdma_chan *c = to_softdma_chan(chan);
	struct device *dev = c->sd->dma.dev;
	u32 number = softdma_next_number(c);
	struct softdma_desc *d = NULL;

	if (!READ_ONCE(c->sd->gone) && softdma_acceptable(c, dst, src, len) &&
	    !softdma_strikes(c, number, READ_ONCE(knobs.refuse_nth)))
		d = kzalloc(sizeof(*d), GFP_NOWAIT);
	if (!d) {
		atomic64_inc(&counts.refused);
		return NULL;
	}
	d->dst = dma_to_phys(dev, dst);
	d->src = dma_to_phys(dev, src);
	d->len = len;
	d->number = number;
	atomic64_inc(&counts.inflight);
	return vchan_tx_prep(&c->vc, &d->vd, flags);
}

static void softdma_issue_pending(struct dma_chan *chan)
{
	struct softdma_chan *c = to_softdma_chan(chan);
	unsigned long flags;
	bool work;

	spin_lock_irqsave(&c->vc.lock, flags);
	work = vchan_issue_pending(&c->vc);
	spin_unlock_irqrestore(&c->vc.lock, flags);
	if (work)
		wake_up_all(&c->wait);
}

/* Bytes of a descriptor that is waiting; under vc.lock. */
static u32 softdma_waiting(struct softdma_chan *c, dma_cookie_t cookie)
{
	struct virt_dma_desc *vd;

	list_for_each_entry(vd, &c->vc.desc_issued, node)
		if (vd->tx.cookie == cookie)
			return to_softdma_desc(vd)->len;
	list_for_each_entry(vd, &c->vc.desc_submitted, node)
		if (vd->tx.cookie == cookie)
			return to_softdma_desc(vd)->len;
	return 0;
}

static enum dma_status softdma_tx_status(struct dma_chan *chan, dma_cookie_t cookie,
					 struct dma_tx_state *state)
{
	struct softdma_chan *c = to_softdma_chan(chan);
	enum dma_status status;
	unsigned long flags;

	spin_lock_irqsave(&c->vc.lock, flags);
	status = dma_cookie_status(chan, cookie, state);
	if (c->cur && c->cur->vd.tx.cookie == cookie) {
		/* Terminated or not: it writes as long as the thread has it. */
		status = DMA_IN_PROGRESS;
		dma_set_residue(state, c->cur->len - READ_ONCE(c->cur->done));
	} else if (status == DMA_COMPLETE) {
		if (softdma_noted(c, cookie))
			status = DMA_ERROR;
	} else {
		dma_set_residue(state, softdma_waiting(c, cookie));
	}
	spin_unlock_irqrestore(&c->vc.lock, flags);
	return status;
}

/*
 * What is prepared but not submitted stays: with several threads on a channel it may be
 * another's, who will submit it.  What is complete keeps its callback.
 */
static int softdma_terminate_all(struct dma_chan *chan)
{
	struct softdma_chan *c = to_softdma_chan(chan);
	struct virt_dma_desc *vd;
	unsigned long flags;
	LIST_HEAD(head);

	spin_lock_irqsave(&c->vc.lock, flags);
	list_splice_tail_init(&c->vc.desc_issued, &head);
	list_splice_tail_init(&c->vc.desc_submitted, &head);
	list_for_each_entry(vd, &head, node) {
		softdma_note(c, vd->tx.cookie, true);
		atomic64_inc(&counts.terminated);
	}
	if (c->cur && !c->stop) {
		softdma_note(c, c->cur->vd.tx.cookie, true);
		atomic64_inc(&counts.terminated);
		WRITE_ONCE(c->stop, true);
	}
	/* Nothing waits any more, and tx_status() shall say so. */
	chan->completed_cookie = chan->cookie;
	spin_unlock_irqrestore(&c->vc.lock, flags);

	wake_up_all(&c->wait);
	vchan_dma_desc_free_list(&c->vc, &head);
	return 0;
}

static void softdma_synchronize(struct dma_chan *chan)
{
	struct softdma_chan *c = to_softdma_chan(chan);

	spin_lock_irq(&c->vc.lock);
	WRITE_ONCE(c->drain, c->drain + 1);
	spin_unlock_irq(&c->vc.lock);
	wake_up_all(&c->wait);

	wait_event(c->wait, !READ_ONCE(c->stop));

	/* Taking the lock orders what the thread wrote before what the client writes. */
	spin_lock_irq(&c->vc.lock);
	WRITE_ONCE(c->drain, c->drain - 1);
	spin_unlock_irq(&c->vc.lock);
	vchan_synchronize(&c->vc);

	/* To schedule a tasklet while it is killed is in vain: repeat it for others. */
	spin_lock_irq(&c->vc.lock);
	if (!list_empty(&c->vc.desc_completed))
		tasklet_schedule(&c->vc.task);
	spin_unlock_irq(&c->vc.lock);
}

static int softdma_alloc_chan_resources(struct dma_chan *chan)
{
	struct softdma_chan *c = to_softdma_chan(chan);
	struct task_struct *thread;

	thread = kthread_run(softdma_thread, c, "softdma/%u", c->index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	c->thread = thread;
	return 0;
}

static void softdma_free_chan_resources(struct dma_chan *chan)
{
	struct softdma_chan *c = to_softdma_chan(chan);

	/* A client may leave without a word while a descriptor hangs. */
	softdma_terminate_all(chan);
	softdma_synchronize(chan);
	kthread_stop(c->thread);
	c->thread = NULL;
	vchan_free_chan_resources(&c->vc);
}

/* ----- the device: comes, goes, and is freed ----- */

static LLIST_HEAD(softdma_dead);

/* Of the device and its channels' devices; the core lets go of them at unbinding. */
static void softdma_put_devices(struct softdma *sd)
{
	unsigned int i;

	for (i = 0; i < sd->nr_chans; i++)
		put_device(&sd->chans[i].vc.chan.dev->device);
	put_device(sd->dma.dev);
}

/* The core calls it with its mutex held, when the last client is gone. */
static void softdma_release(struct dma_device *dma)
{
	struct softdma *sd = container_of(dma, struct softdma, dma);

	llist_add(&sd->dead, &softdma_dead);
}

static bool softdma_no_channel(struct dma_chan *chan, void *param)
{
	return false;
}

/*
 * dma_release_channel() still looks at the channel after the call of softdma_release().
 * It does so under the core's mutex, and to ask for a channel that nobody has waits
 * for that.
 */
static void softdma_free_dead(void)
{
	struct llist_node *dead = llist_del_all(&softdma_dead);
	struct softdma *sd, *next;
	dma_cap_mask_t mask;

	if (!dead)
		return;
	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	dma_request_channel(mask, softdma_no_channel, NULL);
	llist_for_each_entry_safe(sd, next, dead, dead) {
		softdma_put_devices(sd);
		kfree(sd);
	}
}

static void softdma_init_chan(struct softdma *sd, unsigned int index)
{
	struct softdma_chan *c = &sd->chans[index];

	c->sd = sd;
	c->index = index;
	c->numbering = atomic_read(&numbering);
	init_waitqueue_head(&c->wait);
	c->vc.desc_free = softdma_desc_free;
	vchan_init(&c->vc, &sd->dma);
}

static void softdma_init_dma(struct softdma *sd, struct device *dev)
{
	struct dma_device *dma = &sd->dma;

	dma->dev = dev;
	INIT_LIST_HEAD(&dma->channels);
	dma_cap_set(DMA_MEMCPY, dma->cap_mask);
	/* Only for who asks for it: nobody wants to find a test device in his RAID. */
	dma_cap_set(DMA_PRIVATE, dma->cap_mask);
	dma->copy_align = align_shift;
	dma->directions = BIT(DMA_MEM_TO_MEM);
	dma->residue_granularity = DMA_RESIDUE_GRANULARITY_BURST;
	dma->device_alloc_chan_resources = softdma_alloc_chan_resources;
	dma->device_free_chan_resources = softdma_free_chan_resources;
	dma->device_prep_dma_memcpy = softdma_prep_memcpy;
	dma->device_issue_pending = softdma_issue_pending;
	dma->device_tx_status = softdma_tx_status;
	dma->device_terminate_all = softdma_terminate_all;
	dma->device_synchronize = softdma_synchronize;
	dma->device_release = softdma_release;
}

static int softdma_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct softdma *sd;
	unsigned int i;
	int err;

	if (device_iommu_mapped(dev) || get_dma_ops(dev))
		return dev_err_probe(dev, -ENODEV,
				     "cannot follow DMA addresses that are translated; boot without an IOMMU for platform devices\n");

#if defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU) || \
	defined(CONFIG_ARCH_HAS_SYNC_DMA_FOR_CPU_ALL)
	/* It reads and writes through the caches, which therefore must be left alone. */
	dev->dma_coherent = true;
#endif
	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (err)
		return err;
	dma_set_max_seg_size(dev, max_segment ?: UINT_MAX);

	sd = kzalloc(struct_size(sd, chans, channels), GFP_KERNEL);
	if (!sd)
		return -ENOMEM;
	sd->nr_chans = channels;
	softdma_init_dma(sd, dev);
	for (i = 0; i < sd->nr_chans; i++)
		softdma_init_chan(sd, i);
	err = dma_async_device_register(&sd->dma);
	if (err) {
		kfree(sd);
		return err;
	}
	/* A client that holds a channel may ask for its device after the unbinding. */
	get_device(dev);
	for (i = 0; i < sd->nr_chans; i++)
		get_device(&sd->chans[i].vc.chan.dev->device);
	platform_set_drvdata(pdev, sd);
	return 0;
}

/* Clients may hold channels; what they have issued is aborted. */
static void softdma_remove(struct platform_device *pdev)
{
	struct softdma *sd = platform_get_drvdata(pdev);
	unsigned int i;

	WRITE_ONCE(sd->gone, true);
	for (i = 0; i < sd->nr_chans; i++) {
		wake_up_all(&sd->chans[i].wait);
		wait_event(sd->chans[i].wait, !READ_ONCE(sd->chans[i].cur));
	}
	dma_async_device_unregister(&sd->dma);
	softdma_free_dead();
}

static struct platform_driver softdma_driver = {
	.driver.name = "softdma",
	.probe = softdma_probe,
	.remove = softdma_remove,
};

/* ----- the files in debugfs ----- */

static int softdma_count_get(void *data, u64 *val)
{
	*val = atomic64_read(data);
	return 0;
}

static int softdma_count_set(void *data, u64 val)
{
	if (val)
		return -EINVAL;
	atomic64_set(data, 0);
	if (data == &counts.descriptors)
		atomic_inc(&numbering);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(softdma_count_fops, softdma_count_get, softdma_count_set, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(softdma_level_fops, softdma_count_get, NULL, "%llu\n");

static struct dentry *softdma_dir;

static void softdma_add_files(void)
{
	static const struct {
		const char *name;
		atomic64_t *count;
	} files[] = {
		{ "descriptors", &counts.descriptors },
		{ "bytes", &counts.bytes },
		{ "refused", &counts.refused },
		{ "hangs", &counts.hangs },
		{ "lost", &counts.lost },
		{ "errors", &counts.errors },
		{ "terminated", &counts.terminated },
	};
	struct dentry *dir = debugfs_create_dir("softdma", NULL);
	unsigned int i;

	softdma_dir = dir;
	debugfs_create_u64("bandwidth", 0600, dir, &knobs.bandwidth);
	debugfs_create_u32("latency_us", 0600, dir, &knobs.latency_us);
	debugfs_create_u32("refuse_nth", 0600, dir, &knobs.refuse_nth);
	debugfs_create_u32("hang_nth", 0600, dir, &knobs.hang_nth);
	debugfs_create_u32("lost_nth", 0600, dir, &knobs.lost_nth);
	debugfs_create_u32("error_nth", 0600, dir, &knobs.error_nth);
	debugfs_create_u32("late_us", 0600, dir, &knobs.late_us);
	debugfs_create_x32("channel_mask", 0600, dir, &knobs.channel_mask);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		debugfs_create_file_unsafe(files[i].name, 0600, dir, files[i].count,
					   &softdma_count_fops);
	debugfs_create_file_unsafe("inflight", 0400, dir, &counts.inflight,
				   &softdma_level_fops);
}

/* ----- the module ----- */

static struct platform_device *softdma_device;

static int __init softdma_init(void)
{
	const struct platform_device_info info = {
		.name = "softdma",
		.id = PLATFORM_DEVID_NONE,
		.dma_mask = DMA_BIT_MASK(64),
	};
	int err;

	if (channels < 1 || channels > SOFTDMA_MAX_CHANNELS) {
		pr_err("channels=%u is not between 1 and %u\n", channels,
		       SOFTDMA_MAX_CHANNELS);
		return -EINVAL;
	}
	if (align_shift > DMAENGINE_ALIGN_256_BYTES) {
		pr_err("align_shift=%u is more than %u\n", align_shift,
		       DMAENGINE_ALIGN_256_BYTES);
		return -EINVAL;
	}
	err = platform_driver_register(&softdma_driver);
	if (err)
		return err;
	softdma_device = platform_device_register_full(&info);
	if (IS_ERR(softdma_device)) {
		err = PTR_ERR(softdma_device);
		goto out_driver;
	}
	/* The driver has said why. */
	if (!device_is_bound(&softdma_device->dev)) {
		err = -ENODEV;
		goto out_device;
	}
	softdma_add_files();
	return 0;

out_device:
	platform_device_unregister(softdma_device);
out_driver:
	platform_driver_unregister(&softdma_driver);
	return err;
}
module_init(softdma_init);

static void __exit softdma_exit(void)
{
	debugfs_remove(softdma_dir);
	platform_device_unregister(softdma_device);
	platform_driver_unregister(&softdma_driver);
	/* The last client of a device that was unbound before may have left just now. */
	softdma_free_dead();
}
module_exit(softdma_exit);

MODULE_DESCRIPTION("DMA engine in software that fails on demand, for tests");
MODULE_LICENSE("GPL");
