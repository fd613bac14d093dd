// SPDX-License-Identifier: GPL-2.0
/*
 * foliolift: the engine that copies with DMA channels
 *
 * Everything that can be looked up is looked up when the module is loaded: which channels
 * there are, which device maps for each, how much it takes at once.  A batch takes as
 * many free channels as it may, deals its pages out to them, lets them all begin, and
 * waits.  A channel works for one batch at a time: so one that hangs can be stopped
 * without harm to anybody else, and what is in flight is bounded.
 *
 * What must hold: whatever happens, nothing of a batch is being written when
 * dma_copy() returns.  A channel that is late is stopped, and known to have stopped,
 * before its folios are given back to be copied by the CPU.
 *
 * Folios are mapped and unmapped through the DMA API, each for the device that copies it.
 * Unmapping is what makes the copy visible where the device is not coherent, or where a
 * bounce buffer stands between, so it comes before the segment is reported as copied.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/foliolift.h>
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

/* A batch has at most so many channels, and the engine at most so many. */
#define MAX_LANES	32

/* Descriptors that a channel has in flight at most. */
#define LANE_PARTS	256

/*
 * A channel that copies nothing in so many batches that it had a share of, one after the
 * other, is left alone for a while: each of them was tried, and then copied by the CPU.
 */
#define MAX_FAILURES	16
#define REST_JIFFIES	(10 * HZ)

/* Batches of fewer pages are copied before a channel has begun. */
#define DMA_MIN_PAGES	max(SZ_128K >> PAGE_SHIFT, 1)

/*
 * Batches up to this size are waited for without sleeping, for a moment: going to sleep
 * and waking up again would take longer than they do.
 */
#define POLL_PAGES	(SZ_256K >> PAGE_SHIFT)
#define POLL_NS		(50 * NSEC_PER_USEC)

static char *channels;
module_param(channels, charp, 0444);
MODULE_PARM_DESC(channels, "Channels to use, as /sys/class/dma names them, with commas between (default: all that can copy)");

static unsigned int timeout_ms = 1000;

/* Channels for a batch: as the policy asks, and as a person has set (0: policy). */
static unsigned int dma_policy_width = 1;
static unsigned int dma_width;

/**
 * struct dma_part - A descriptor: pages that are contiguous in source and destination.
 * @lane:	The channel that copies it.
 * @src:	Source, mapped for the channel's device.
 * @dst:	Destination, likewise.
 * @bytes:	Length of both.
 * @first:	First segment of the batch that it has pages of.
 * @last:	Last one.
 * @copied:	The device said that it is copied.
 */
struct dma_part {
	struct dma_lane *lane;
	dma_addr_t src;
	dma_addr_t dst;
	size_t bytes;
	unsigned int first;
	unsigned int last;
	bool copied;
};

/**
 * struct dma_lane - A channel.
 * @chan:	The channel.
 * @dev:	The device to map for.
 * @max_pages:	Most pages of a part.
 * @busy:	Bit 0: a batch has it.  Taken with acquire, given back with release
 *		semantics; who has it owns all the rest.
 * @dead:	It was late once, and is out of service.
 * @rest_until:	It failed too often, and is out of service until then, in jiffies.
 * @refuses:	It takes no more of this batch.
 * @pending:	Parts that are not done, and one more while they are being submitted.
 * @done:	Completed when @pending gets to 0.
 * @since_ns:	When the parts were submitted.
 * @failures:	Batches that it copied nothing of since one that it did.
 * @speed:	Megabytes a second, as measured when the engine began.
 * @attr:	The file that shows it.
 * @name:	The channel's, which may lose it together with its device.
 * @nr_parts:	Parts in use.
 * @parts:	The parts.
 */
struct dma_lane {
	struct dma_chan *chan;
	struct device *dev;
	unsigned int max_pages;
	unsigned long busy;
	bool dead;
	bool refuses;
	unsigned long rest_until;
	atomic_t pending;
	struct completion done;
	u64 since_ns;
	unsigned int failures;
	unsigned int speed;
	struct kobj_attribute attr;
	char name[32];
	unsigned int nr_parts;
	struct dma_part parts[LANE_PARTS];
};

/**
 * struct dma_place - How far a batch has been dealt out.
 * @segment:	The segment that comes next.
 * @page:	The page of it that comes next.
 * @left:	Pages of the batch that are left.
 */
struct dma_place {
	unsigned int segment;
	unsigned int page;
	unsigned long left;
};

/**
 * struct dma_stretch - Pages that one descriptor can copy.
 * @src:	First page of the source.
 * @dst:	First page of the destination.
 * @nr_pages:	Pages, contiguous from there on in both.
 * @end:	What comes after it in the batch.
 */
struct dma_stretch {
	struct page *src;
	struct page *dst;
	unsigned int nr_pages;
	struct dma_place end;
};

static struct dma_lane *lanes[MAX_LANES];
static unsigned int nr_lanes;

static atomic_long_t queued_bytes, nr_descriptors, nr_timeouts, nr_errors;

/* ----- a part's life ----- */

static void lane_unref(struct dma_lane *lane)
{
	if (atomic_dec_and_test(&lane->pending))
		complete(&lane->done);
}

/* The provider's callback: the part is copied, or will not be. */
static void part_done(void *param, const struct dmaengine_result *result)
{
	struct dma_part *part = param;

	/* The decrement in lane_unref() orders this for whoever waits. */
	part->copied = !result || result->result == DMA_TRANS_NOERROR;
	lane_unref(part->lane);
}

static void part_unmap(struct dma_part *part)
{
	struct device *dev = part->lane->dev;

	dma_unmap_page(dev, part->src, part->bytes, DMA_TO_DEVICE);
	dma_unmap_page(dev, part->dst, part->bytes, DMA_FROM_DEVICE);
}

static bool part_map(struct dma_part *part, struct page *dst, struct page *src)
{
	struct device *dev = part->lane->dev;

	part->src = dma_map_page(dev, src, 0, part->bytes, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, part->src))
		return false;
	part->dst = dma_map_page(dev, dst, 0, part->bytes, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, part->dst)) {
		dma_unmap_page(dev, part->src, part->bytes, DMA_TO_DEVICE);
		return false;
	}
	return true;
}

/* Hand pages to the channel.  False if it does not take them. */
static bool part_submit(struct dma_lane *lane,
			const struct dma_stretch *stretch, unsigned int first,
			unsigned int last)
{
	struct dma_part *part = &lane->parts[lane->nr_parts];
	struct dma_async_tx_descriptor *tx;

	part->lane = lane;
	part->bytes = (size_t)stretch->nr_pages << PAGE_SHIFT;
	part->first = first;
	part->last = last;
	part->copied = false;
	if (!part_map(part, stretch->dst, stretch->src))
		return false;
	if (!is_dma_copy_aligned(lane->chan->device, part->src, part->dst,
				 part->bytes))
		goto out_unmap;
	tx = dmaengine_prep_dma_memcpy(lane->chan, part->dst, part->src,
				       part->bytes,
				       DMA_PREP_INTERRUPT | DMA_CTRL_ACK);
	if (!tx)
		goto out_unmap;
	tx->callback_result = part_done;
	tx->callback_param = part;
	atomic_inc(&lane->pending);
	if (dma_submit_error(dmaengine_submit(tx))) {
		atomic_dec(&lane->pending);
		goto out_unmap;
	}
	lane->nr_parts++;
	return true;

out_unmap:
	part_unmap(part);
	return false;
}

/* ----- a channel's work for a batch ----- */

static void lane_begin(struct dma_lane *lane)
{
	lane->nr_parts = 0;
	lane->refuses = false;
	reinit_completion(&lane->done);
	/* One for us: the first part may be done before the last is submitted. */
	atomic_set(&lane->pending, 1);
}

static void lane_issue(struct dma_lane *lane)
{
	lane->since_ns = ktime_get_ns();
	if (lane->nr_parts)
		dma_async_issue_pending(lane->chan);
	lane_unref(lane);
}

/*
 * Stop a channel that is late.  On return the device has stopped writing, and no callback
 * runs or will.
 */
static void lane_stop(struct dma_lane *lane)
{
	pr_warn("%s did not copy within %u ms and is out of service; load the module anew to try it again\n",
		lane->name, READ_ONCE(timeout_ms));
	atomic_long_inc(&nr_timeouts);
	WRITE_ONCE(lane->dead, true);
	/*
	 * Until it has stopped it may write to the destinations, so there is no way on
	 * but to wait.  Channels that cannot be stopped at all are not taken.
	 */
	while (dmaengine_terminate_sync(lane->chan)) {
		pr_err_ratelimited("%s cannot be stopped, trying again\n",
				   lane->name);
		schedule_timeout_uninterruptible(HZ / 10);
	}
}

static void lane_wait(struct dma_lane *lane, unsigned long deadline, bool poll)
{
	unsigned long now;

	if (poll) {
		u64 until = lane->since_ns + POLL_NS;

		while (!completion_done(&lane->done) && ktime_get_ns() < until)
			cpu_relax();
	}
	now = jiffies;
	if (!wait_for_completion_timeout(&lane->done,
					 time_before(now, deadline) ?
					 deadline - now : 0))
		lane_stop(lane);
}

/*
 * Make what was copied visible, and report what was not.  What was not even taken stays
 * as it is: others take it, or the CPU does.
 */
static void lane_settle(struct dma_lane *lane,
			const struct foliolift_batch *batch)
{
	unsigned int i, s, copied = 0;

	for (i = 0; i < lane->nr_parts; i++) {
		struct dma_part *part = &lane->parts[i];

		part_unmap(part);
		if (likely(part->copied)) {
			copied++;
			continue;
		}
		atomic_long_inc(&nr_errors);
		for (s = part->first; s <= part->last; s++)
			batch->segments[s].status = -EIO;
	}
	if (copied)
		lane->failures = 0;
	else if (lane->nr_parts || lane->refuses)
		lane->failures++;
	if (lane->failures < MAX_FAILURES || lane->dead)
		return;
	if (!lane->rest_until)
		pr_warn("%s copied nothing of %u batches and rests for 10 s, now and whenever that happens again\n",
			lane->name, MAX_FAILURES);
	lane->failures = 0;
	WRITE_ONCE(lane->rest_until, jiffies + REST_JIFFIES);
}

/* ----- a batch ----- */

/*
 * The longest stretch from @place on, of @max pages at most.  Folios that lie one behind
 * the other on both sides are joined, in whichever direction: the allocator hands out
 * fresh blocks from below and freed ones often from above.
 */
static void stretch_find(const struct foliolift_batch *batch,
			 const struct dma_place *place, unsigned int max,
			 struct dma_stretch *stretch)
{
	const struct foliolift_segment *seg = &batch->segments[place->segment];
	unsigned long src = folio_pfn(seg->src) + place->page;
	unsigned long dst = folio_pfn(seg->dst) + place->page;
	unsigned int nr = min(seg->nr_pages - place->page, max), run = 0;
	struct dma_place *end = &stretch->end;
	bool up = false, down = false;

	*end = *place;
	for (;;) {
		run += nr;
		end->page += nr;
		end->left -= nr;
		if (end->page < seg->nr_pages)
			break;
		end->page = 0;
		end->segment++;
		if (run == max || !end->left)
			break;
		seg++;
		nr = seg->nr_pages;
		if (!down && folio_pfn(seg->src) == src + run &&
		    folio_pfn(seg->dst) == dst + run) {
			up = true;
			nr = min(nr, max - run);
		} else if (!up && nr <= max - run &&
			   folio_pfn(seg->src) + nr == src &&
			   folio_pfn(seg->dst) + nr == dst) {
			down = true;
			src -= nr;
			dst -= nr;
		} else {
			break;
		}
	}
	stretch->src = pfn_to_page(src);
	stretch->dst = pfn_to_page(dst);
	stretch->nr_pages = run;
}

/* Give a channel its share, as far as it takes it. */
static void lane_fill(struct dma_lane *lane,
		      const struct foliolift_batch *batch,
		      struct dma_place *place, unsigned long share)
{
	struct dma_stretch stretch;
	bool settled = false;

	while (place->left && share && lane->nr_parts < LANE_PARTS) {
		stretch_find(batch, place,
			     min_t(unsigned long, share, lane->max_pages),
			     &stretch);
		if (part_submit(lane, &stretch, place->segment,
				stretch.end.segment - !stretch.end.page)) {
			*place = stretch.end;
			share -= stretch.nr_pages;
			continue;
		}
		/* Only for now, perhaps: it may be out of descriptors. */
		if (lane->nr_parts)
			return;
		/* Or those of the last round are not quite free yet. */
		if (settled) {
			lane->refuses = true;
			atomic_long_inc(&nr_errors);
			return;
		}
		dmaengine_synchronize(lane->chan);
		settled = true;
	}
}

/* Out of service, for good or for a while? */
static bool lane_out(const struct dma_lane *lane)
{
	return READ_ONCE(lane->dead) ||
	       time_before(jiffies, READ_ONCE(lane->rest_until));
}

static unsigned int lanes_take(struct dma_lane **taken, unsigned int max)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nr_lanes && nr < max; i++) {
		struct dma_lane *lane = lanes[i];

		if (lane_out(lane) || test_bit(0, &lane->busy) ||
		    test_and_set_bit_lock(0, &lane->busy))
			continue;
		if (lane_out(lane))
			clear_bit_unlock(0, &lane->busy);
		else
			taken[nr++] = lane;
	}
	return nr;
}

static void dma_run(const struct foliolift_batch *batch,
		    struct dma_lane **taken, unsigned int nr)
{
	struct dma_place place = { .left = batch->nr_pages };
	bool poll = batch->nr_pages <= POLL_PAGES;
	unsigned int i;

	/* Several rounds only if channels run out of descriptors, or drop out. */
	while (place.left && nr) {
		unsigned long share = DIV_ROUND_UP(place.left, nr), deadline;
		long bytes = (long)place.left << PAGE_SHIFT;
		unsigned int alive = 0;

		atomic_long_add(bytes, &queued_bytes);
		for (i = 0; i < nr; i++) {
			lane_begin(taken[i]);
			lane_fill(taken[i], batch, &place, share);
			atomic_long_add(taken[i]->nr_parts, &nr_descriptors);
			lane_issue(taken[i]);
		}
		deadline = jiffies + msecs_to_jiffies(READ_ONCE(timeout_ms));
		for (i = 0; i < nr; i++) {
			lane_wait(taken[i], deadline, poll);
			lane_settle(taken[i], batch);
		}
		atomic_long_sub(bytes, &queued_bytes);
		for (i = 0; i < nr; i++) {
			if (taken[i]->dead || taken[i]->refuses)
				clear_bit_unlock(0, &taken[i]->busy);
			else
				taken[alive++] = taken[i];
		}
		nr = alive;
	}
	for (i = 0; i < nr; i++)
		clear_bit_unlock(0, &taken[i]->busy);

	/* Everything that was dealt out is copied, or reported by now. */
	for (i = 0; i < batch->nr_segments; i++) {
		struct foliolift_segment *seg = &batch->segments[i];

		if (i > place.segment || (i == place.segment && place.left))
			break;
		if (seg->status == FOLIOLIFT_PENDING)
			seg->status = 0;
	}
}

static int dma_copy(const struct foliolift_batch *batch)
{
	unsigned int width = READ_ONCE(dma_width), nr;
	struct dma_lane *taken[MAX_LANES];

	/* What is measured is what the policy can have. */
	if (!width || batch->reason == FOLIOLIFT_MEASURE)
		width = READ_ONCE(dma_policy_width);
	nr = lanes_take(taken, min(width, MAX_LANES));

	/* All of them are at work: the CPU is faster than waiting. */
	if (!nr)
		return -EBUSY;
	dma_run(batch, taken, nr);
	return 0;
}

static void dma_set_width(unsigned int width)
{
	WRITE_ONCE(dma_policy_width, width);
}

/* ----- files in /sys/kernel/mm/foliolift/engines/dma ----- */

static ssize_t channels_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dma_width));
}

static ssize_t channels_store(struct kobject *kobj,
			      struct kobj_attribute *attr, const char *buf,
			      size_t count)
{
	unsigned int width;
	int err = kstrtouint(buf, 10, &width);

	if (err)
		return err;
	if (width > MAX_LANES)
		return -EINVAL;
	WRITE_ONCE(dma_width, width);
	return count;
}

static struct kobj_attribute channels_attr = __ATTR_RW(channels);

static ssize_t channels_in_service_show(struct kobject *kobj,
					struct kobj_attribute *attr, char *buf)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nr_lanes; i++)
		nr += !lane_out(lanes[i]);
	return sysfs_emit(buf, "%u\n", nr);
}

static struct kobj_attribute channels_in_service_attr =
	__ATTR_RO(channels_in_service);

static ssize_t timeout_ms_show(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(timeout_ms));
}

static ssize_t timeout_ms_store(struct kobject *kobj,
				struct kobj_attribute *attr, const char *buf,
				size_t count)
{
	unsigned int ms;
	int err = kstrtouint(buf, 10, &ms);

	if (err)
		return err;
	if (!ms || ms > 60000)
		return -EINVAL;
	WRITE_ONCE(timeout_ms, ms);
	return count;
}

static struct kobj_attribute timeout_ms_attr = __ATTR_RW(timeout_ms);

#define DMA_COUNTER(_name, _var)					\
	static ssize_t _name##_show(struct kobject *kobj,		\
				    struct kobj_attribute *attr,	\
				    char *buf)				\
	{								\
		return sysfs_emit(buf, "%ld\n", atomic_long_read(&(_var))); \
	}								\
	static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

DMA_COUNTER(queued_bytes, queued_bytes);
DMA_COUNTER(descriptors, nr_descriptors);
DMA_COUNTER(timeouts, nr_timeouts);
DMA_COUNTER(errors, nr_errors);

static struct attribute *dma_attrs[] = {
	&channels_attr.attr,
	&channels_in_service_attr.attr,
	&timeout_ms_attr.attr,
	&queued_bytes_attr.attr,
	&descriptors_attr.attr,
	&timeouts_attr.attr,
	&errors_attr.attr,
	NULL,
};

static const struct attribute_group dma_group = { .attrs = dma_attrs };

/* A file for each channel, named as the channel is. */
static ssize_t lane_speed_show(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  container_of(attr, struct dma_lane, attr)->speed);
}

static struct attribute *lane_attrs[MAX_LANES + 1];

static const struct attribute_group lane_group = {
	.name = "channel_speed",
	.attrs = lane_attrs,
};

static const struct attribute_group *dma_groups[] = {
	&dma_group,
	&lane_group,
	NULL,
};

/* ----- finding channels, and finding out what they are good for ----- */

/* What is copied to try a channel: 64 KB, and 2 MB if it might take that at once. */
#define TRY_ORDER	4
#define TRY_LONG_ORDER	9
#define TRY_RUNS	4

static void fill(struct folio *folio, u64 seed)
{
	u64 *word = folio_address(folio);
	size_t i;

	for (i = 0; i < folio_size(folio) / sizeof(*word); i++)
		word[i] = seed + i * 0x9e3779b97f4a7c15ULL;
}

/*
 * Does the channel copy what it is asked to, and how fast?  One that does not copy right
 * would be found out by programs whose memory it spoilt.
 */
static bool lane_try(struct dma_lane *lane, struct folio *dst,
		     struct folio *src, int runs)
{
	struct foliolift_segment seg = {
		.dst = dst, .src = src, .nr_pages = folio_nr_pages(src),
	};
	struct foliolift_batch batch = {
		.segments = &seg, .nr_segments = 1, .nr_pages = seg.nr_pages,
	};
	u64 took = U64_MAX, start;
	int run;

	for (run = 0; run < runs; run++) {
		struct dma_lane *taken[] = { lane };

		fill(src, run);
		fill(dst, ~0ULL - run);
		seg.status = FOLIOLIFT_PENDING;
		set_bit(0, &lane->busy);
		start = ktime_get_ns();
		dma_run(&batch, taken, 1);
		took = clamp(ktime_get_ns() - start, 1ULL, took);
		if (seg.status || memcmp(folio_address(src), folio_address(dst),
					 folio_size(src))) {
			return false;
		}
	}
	lane->speed = div64_u64(folio_size(src) * 1000ULL, took);
	return true;
}

/*
 * How much does the channel take at once?  Most drivers say; of one that says nothing the
 * DMA API believes 64 KB, which is little.  So try: what it refuses is copied by the CPU,
 * and shows as a status.  False if it hung, and is out of service before it began.
 */
static bool lane_try_long(struct dma_lane *lane, struct folio *dst,
			  struct folio *src)
{
	unsigned int max_pages = lane->max_pages;

	if (!src || !dst || (lane->dev->dma_parms &&
			     lane->dev->dma_parms->max_segment_size))
		return true;
	lane->max_pages = min_t(size_t, dma_max_mapping_size(lane->dev) >> PAGE_SHIFT,
				folio_nr_pages(src));
	if (lane->max_pages <= max_pages || !lane_try(lane, dst, src, 1))
		lane->max_pages = max_pages;
	return !lane->dead;
}

static bool lane_wanted(struct dma_chan *chan, void *unused)
{
	const char *name = dma_chan_name(chan), *at = channels;
	size_t len = strlen(name);

	if (!channels || !*channels)
		return true;
	while ((at = strstr(at, name))) {
		if ((at == channels || at[-1] == ',') &&
		    (at[len] == ',' || !at[len]))
			return true;
		at += len;
	}
	return false;
}

static struct dma_lane *lane_new(struct dma_chan *chan)
{
	struct device *dev = dmaengine_get_dma_device(chan);
	size_t max_bytes = min_t(size_t, dma_get_max_seg_size(dev),
				 dma_max_mapping_size(dev));
	struct dma_lane *lane;

	if (!chan->device->device_terminate_all ||
	    !chan->device->device_synchronize) {
		pr_warn("%s cannot be stopped and waited for when it is late, and is not used\n",
			dma_chan_name(chan));
		return NULL;
	}
	if (max_bytes < PAGE_SIZE) {
		pr_warn("%s takes no whole page at once and is not used\n",
			dma_chan_name(chan));
		return NULL;
	}
	lane = kzalloc(sizeof(*lane), GFP_KERNEL);
	if (!lane)
		return NULL;
	lane->chan = chan;
	lane->dev = dev;
	lane->max_pages = min_t(size_t, max_bytes >> PAGE_SHIFT,
				SZ_1G >> PAGE_SHIFT);
	init_completion(&lane->done);
	sysfs_attr_init(&lane->attr.attr);
	strscpy(lane->name, dma_chan_name(chan));
	lane->attr.attr.name = lane->name;
	lane->attr.attr.mode = 0444;
	lane->attr.show = lane_speed_show;
	return lane;
}

static void lanes_free(void)
{
	while (nr_lanes) {
		struct dma_lane *lane = lanes[--nr_lanes];

		dma_release_channel(lane->chan);
		kfree(lane);
	}
}

/* Two folios each of the two sizes; the large ones may be missing. */
static bool scratch_get(struct folio *scratch[4])
{
	int i;

	for (i = 0; i < 4; i++)
		scratch[i] = folio_alloc(GFP_KERNEL | __GFP_NOWARN,
					 i < 2 ? TRY_ORDER : TRY_LONG_ORDER);
	return scratch[0] && scratch[1];
}

static void scratch_put(struct folio *scratch[4])
{
	int i;

	for (i = 0; i < 4; i++)
		if (scratch[i])
			folio_put(scratch[i]);
}

static int lanes_find(void)
{
	struct dma_chan *useless[MAX_LANES], *chan;
	unsigned int nr_useless = 0;
	struct folio *scratch[4];
	dma_cap_mask_t mask;
	int err = -ENOMEM;

	if (!scratch_get(scratch))
		goto out;
	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	while (nr_lanes < MAX_LANES && nr_useless < MAX_LANES) {
		struct dma_lane *lane;

		chan = dma_request_channel(mask, lane_wanted, NULL);
		if (!chan)
			break;
		lane = lane_new(chan);
		if (lane && lane_try(lane, scratch[0], scratch[1], TRY_RUNS) &&
		    lane_try_long(lane, scratch[2], scratch[3])) {
			lane_attrs[nr_lanes] = &lane->attr.attr;
			lanes[nr_lanes++] = lane;
			continue;
		}
		if (lane)
			pr_warn("%s does not copy memory as it should and is not used\n",
				dma_chan_name(chan));
		kfree(lane);
		/* Kept until the end, or it would be found again. */
		useless[nr_useless++] = chan;
	}
	while (nr_useless)
		dma_release_channel(useless[--nr_useless]);
	atomic_long_set(&nr_errors, 0);
	atomic_long_set(&nr_descriptors, 0);
	err = 0;
out:
	scratch_put(scratch);
	return err;
}

static struct foliolift_engine dma_engine = {
	.name = "dma",
	.role = FOLIOLIFT_ROLE_DMA,
	.owner = THIS_MODULE,
	.copy = dma_copy,
	.groups = dma_groups,
	.set_width = dma_set_width,
};

static int __init dma_engine_init(void)
{
	int err = lanes_find();

	if (err)
		return err;
	if (!nr_lanes) {
		if (channels && *channels)
			pr_err("none of the channels %s is there, free and fit; /sys/class/dma lists those there are\n",
			       channels);
		else
			pr_err("no DMA channel that copies memory is there, free and fit; load the driver of one first\n");
		return -ENODEV;
	}
	dma_engine.min_pages = DMA_MIN_PAGES;
	dma_engine.max_width = nr_lanes;
	err = foliolift_register_engine(&dma_engine);
	if (err) {
		pr_err("cannot register the engine (error %d); is another of its role there?\n",
		       err);
		lanes_free();
		return err;
	}
	pr_info("%u channels\n", nr_lanes);
	return 0;
}
module_init(dma_engine_init);

static void __exit dma_engine_exit(void)
{
	foliolift_unregister_engine(&dma_engine);
	lanes_free();
}
module_exit(dma_engine_exit);

MODULE_DESCRIPTION("foliolift engine that copies with DMA channels");
MODULE_LICENSE("GPL");
