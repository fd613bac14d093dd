// SPDX-License-Identifier: GPL-2.0
/* See sim.h. */
#include "sim.h"

/* Ways in which a real machine differs from the numbers of a data sheet. */
#define WAKE_NS		4000.	/* until a helper that was told to is running */
#define KICK_NS		400.	/* to tell it */
#define LOOK_NS		300.	/* to see which CPUs are idle */
#define CALL_NS		300.	/* to be called at all */
#define CHUNK		16.	/* pages that a thread takes at a time */
#define OTHERS		.005	/* each busy CPU takes so much of the bus */
#define DESCRIPTOR_NS	30.	/* to map a page and describe it */
#define DECLINE_NS	700.
#define JITTER		.1	/* of a batch, either way */

#define SAMPLE_MS	100

double sim_random(const struct sim *sim, unsigned int what, unsigned int when)
{
	struct rng rng = {
		.state = sim->seed ^ what * 0x9e3779b97f4a7c15ull ^
			 when * 0xc2b2ae3d27d4eb4full,
	};

	return (double)(rng_next(&rng) >> 11) / (1ull << 53);
}

/* ----- the machine ----- */

/* Nanoseconds for a page when @n threads copy. */
static double threads_ns(const struct sim_machine *m, unsigned int n)
{
	double speed = n / (1 + m->contention * (n - 1));

	return m->cpu_ns / (speed < m->bus ? speed : m->bus);
}

static double cpu_batch(const struct sim_machine *m, unsigned int pages)
{
	return CALL_NS + pages * m->cpu_ns;
}

static double mt_batch(const struct sim_machine *m, unsigned int width,
		       unsigned int idle, unsigned int pages)
{
	unsigned int helpers = idle < width - 1 ? idle : width - 1;
	double before = LOOK_NS + helpers * KICK_NS, alone;

	if (!helpers)
		return before + cpu_batch(m, pages);
	/* The caller has begun when the helpers come. */
	alone = WAKE_NS / m->cpu_ns;
	if (alone >= pages)
		return before + cpu_batch(m, pages);
	/* The last chunk is waited for, half of it on average. */
	return CALL_NS + before + WAKE_NS +
	       (pages - alone) * threads_ns(m, helpers + 1) +
	       (pages < CHUNK ? pages : CHUNK) * m->cpu_ns / 2;
}

static double dma_batch(const struct sim_machine *m, unsigned int width,
			unsigned int free, unsigned int pages)
{
	unsigned int n = free < width ? free : width;

	if (!n)
		return DECLINE_NS + cpu_batch(m, pages);
	return CALL_NS + m->dma_start_ns + pages * DESCRIPTOR_NS +
	       pages * m->dma_ns * (1 + m->dma_contention * (n - 1)) / n;
}

static double batch_ns(const struct sim_machine *m, enum foliolift_role role,
		       unsigned int width, unsigned int idle, unsigned int free,
		       unsigned int pages)
{
	if (role == FOLIOLIFT_ROLE_MT)
		return mt_batch(m, width, idle, pages);
	if (role == FOLIOLIFT_ROLE_DMA)
		return dma_batch(m, width, free, pages);
	return cpu_batch(m, pages);
}

/* ----- calibration: two sizes on an idle machine, wrong by the noise ----- */

static unsigned int widths(const struct sim_machine *m, enum foliolift_role role)
{
	return role == FOLIOLIFT_ROLE_MT ? m->helpers + 1 :
	       role == FOLIOLIFT_ROLE_DMA ? m->channels : 1;
}

static void calibrate(struct sim *sim)
{
	const struct sim_machine *m = sim->machine;
	unsigned int role, i;

	for (role = 0; role < FOLIOLIFT_ROLE_TEST; role++)
		for (i = 0; 1U << i <= widths(m, role) && i < FOLIOLIFT_NR_WIDTHS; i++) {
			double wrong = 1 + sim->noise *
				       (2 * sim_random(sim, 1000 + role, i) - 1);
			double small = wrong * batch_ns(m, role, 1U << i, m->helpers,
							m->channels, 64);
			double large = wrong * batch_ns(m, role, 1U << i, m->helpers,
							m->channels, 2048);
			double page = (large - small) / (2048 - 64);
			double start = small - 64 * page;

			sim->speeds.of[role][i] = (struct foliolift_speed) {
				.start_ns = start > 0 ? start : 0,
				.page_ps = page * 1000,
			};
		}
}

/* ----- what must always hold ----- */

static void check_choice(const struct foliolift_choice *now,
			 const struct foliolift_speeds *speeds)
{
	const struct foliolift_speed *of;

	model_check(now->role < FOLIOLIFT_ROLE_TEST);
	model_check(now->width >= 1 && now->width <= FOLIOLIFT_MAX_WIDTH);
	model_check((now->width & (now->width - 1)) == 0);
	model_check(now->min_pages >= (now->role == FOLIOLIFT_ROLE_MT ? 32 : 2));
	model_check(now->min_pages <= FOLIOLIFT_MAX_MIN_PAGES);
	if (now->role == FOLIOLIFT_ROLE_CPU) {
		model_check(now->width == 1 && now->min_pages == 2);
		return;
	}
	/* It is there, and faster than one thread. */
	of = &speeds->of[now->role][ilog2(now->width)];
	model_check(of->page_ps);
	model_check(of->page_ps < speeds->of[FOLIOLIFT_ROLE_CPU][0].page_ps);
	model_check(now->role != FOLIOLIFT_ROLE_MT || now->width > 1);
}

/* No more in any time than were saved up and were earned in it. */
static void check_rate(struct sim_check *check, uint64_t now_ms)
{
	unsigned int i;

	model_check(check->nr < SIM_NR_CHANGES);
	if (check->nr)
		model_check(now_ms - check->changed_ms[check->nr - 1] >=
			    FOLIOLIFT_DWELL_MS);
	for (i = 0; i < check->nr; i++)
		model_check(check->nr - i + 1 <= FOLIOLIFT_CHANGES_SAVED +
			    (now_ms - check->changed_ms[i]) / FOLIOLIFT_CHANGE_MS);
	check->changed_ms[check->nr++] = now_ms;
}

void sim_step(struct sim_check *check, struct foliolift_policy *policy,
	      const struct foliolift_speeds *speeds,
	      const struct foliolift_load *load, uint64_t now_ms)
{
	const struct foliolift_policy *before = &check->before;
	const struct foliolift_choice *now = &policy->now, *old = &before->now;
	bool changed, role_changed;

	check->before = *policy;
	changed = foliolift_policy_step(policy, speeds, load, now_ms);
	check_choice(now, speeds);
	role_changed = now->role != old->role;
	model_check(changed == (role_changed || now->width != old->width ||
				now->min_pages != old->min_pages));
	model_check(policy->changes + policy->fallbacks ==
		    before->changes + before->fallbacks + role_changed);
	/* A fallback leads to the CPU, and only from what is not to be used. */
	if (policy->fallbacks != before->fallbacks)
		model_check(now->role == FOLIOLIFT_ROLE_CPU);
	if (policy->changes != before->changes)
		check_rate(check, now_ms);
}

/* ----- playing a trace ----- */

static bool cpu_busy(const struct sim *sim, unsigned int cpu, unsigned int ms)
{
	return sim->trace->cpu_busy && sim->trace->cpu_busy(sim, cpu, ms);
}

static bool channel_busy(const struct sim *sim, unsigned int channel, unsigned int ms)
{
	return sim->trace->channel_busy &&
	       sim->trace->channel_busy(sim, channel, ms);
}

static void look(struct sim *sim, unsigned int ms)
{
	unsigned int i;

	if (sim->ms == ms)
		return;
	sim->ms = ms;
	sim->idle = 0;
	sim->free = 0;
	for (i = 0; i < sim->machine->helpers; i++)
		sim->idle += !cpu_busy(sim, i, ms);
	for (i = 0; i < sim->machine->channels; i++)
		sim->free += !channel_busy(sim, i, ms);
}

static bool present(const struct sim *sim, enum foliolift_role role, unsigned int ms)
{
	return role == FOLIOLIFT_ROLE_CPU ||
	       (sim->speeds.of[role][0].page_ps &&
		(!sim->trace->present || sim->trace->present(role, ms)));
}

/* Copy batch @i at @us with @choice; @load is told of it. */
static double copy_us(struct sim *sim, unsigned int i, double us,
		      const struct foliolift_choice *choice,
		      struct foliolift_load *load)
{
	unsigned int ms = us / 1000, pages = sim->batches[i].pages;
	enum foliolift_role role = choice->role;
	bool taken = pages >= choice->min_pages && present(sim, role, ms);
	double ns;

	if (!taken)
		role = FOLIOLIFT_ROLE_CPU;
	look(sim, ms);
	ns = batch_ns(sim->machine, role, choice->width, sim->idle, sim->free, pages);
	ns *= 1 + OTHERS * (sim->machine->helpers - sim->idle);
	ns *= 1 + JITTER * (2 * sim_random(sim, 2000, i) - 1);

	load->batches[foliolift_size_class(pages)]++;
	load->pages[foliolift_size_class(pages)] += pages;
	if (role == FOLIOLIFT_ROLE_DMA && !sim->free) {
		load->dma_declined++;
	} else if (taken) {
		load->copied_batches++;
		load->copied_pages += pages;
		load->copied_ns += ns;
	}
	return ns / 1000;
}

double sim_fixed(struct sim *sim, const struct foliolift_choice *choice)
{
	struct foliolift_load load = { 0 };
	double end = 0, total = 0;
	unsigned int i;

	for (i = 0; i < sim->nr; i++) {
		double begin = sim->batches[i].at_us > end ? sim->batches[i].at_us : end;
		double us = copy_us(sim, i, begin, choice, &load);

		end = begin + us;
		total += us;
	}
	return total / 1000 +
	       (choice->role == FOLIOLIFT_ROLE_CPU ? 0 : SIM_CHANGE_MS);
}

double sim_best_fixed(struct sim *sim, struct foliolift_choice *best)
{
	static const unsigned int least[] = { 2, 32, 128 };
	struct foliolift_choice choice;
	double ms, best_ms = 0;
	unsigned int role, i, j;

	for (role = 0; role < FOLIOLIFT_ROLE_TEST; role++)
		for (i = 0; i < FOLIOLIFT_NR_WIDTHS; i++)
			for (j = 0; j < ARRAY_SIZE(least); j++) {
				if (!sim->speeds.of[role][i].page_ps ||
				    (role == FOLIOLIFT_ROLE_CPU && j) ||
				    (role == FOLIOLIFT_ROLE_MT && !j))
					continue;
				choice.role = role;
				choice.width = 1U << i;
				choice.min_pages = least[j];
				ms = sim_fixed(sim, &choice);
				if (!best_ms || ms < best_ms) {
					best_ms = ms;
					*best = choice;
				}
			}
	return best_ms;
}

/* Add what others did in the millisecond @ms to the sums of a sample. */
struct watch {
	unsigned int ms, idle, busy;
};

static void watch(struct sim *sim, struct watch *watch, unsigned int ms)
{
	unsigned int i;

	watch->ms++;
	for (i = 0; i < sim->machine->helpers; i++)
		watch->idle += !cpu_busy(sim, i, ms);
	for (i = 0; i < sim->machine->channels; i++)
		watch->busy += channel_busy(sim, i, ms);
}

static void tell(const struct sim *sim, const struct watch *watch,
		 struct foliolift_load *load)
{
	unsigned int channels = sim->machine->channels;

	load->idle_16ths = 16 * watch->idle / watch->ms;
	if (channels && !sim->trace->hidden)
		load->dma_busy = 100 * watch->busy / (watch->ms * channels);
}

/* The speeds of what is registered at @ms. */
static void speeds_at(const struct sim *sim, unsigned int ms,
		      struct foliolift_speeds *speeds)
{
	unsigned int role;

	*speeds = sim->speeds;
	for (role = 0; role < FOLIOLIFT_NR_ROLES; role++)
		if (!present(sim, role, ms))
			memset(speeds->of[role], 0, sizeof(speeds->of[role]));
}

struct sim_result sim_policy(struct sim *sim)
{
	struct sim_check check = { 0 };
	struct foliolift_policy policy;
	struct foliolift_load load = { 0 };
	struct foliolift_speeds speeds;
	struct sim_result result = { 0 };
	struct watch seen = { 0 };
	double end = 0;
	unsigned int next = 0, came = 0, i;	/* next: sample; 0: none is due */

	foliolift_policy_init(&policy);
	for (i = 0; i < sim->nr; i++) {
		const struct sim_batch *batch = &sim->batches[i];
		double begin = batch->at_us > end ? batch->at_us : end, us;
		unsigned int ms = begin / 1000;

		/* The sampler runs while batches come, and begins anew with the next. */
		while (next && ms >= next) {
			unsigned int at;

			for (at = next - SAMPLE_MS; at < next; at++)
				watch(sim, &seen, at);
			if (!came) {
				next = 0;
				memset(&seen, 0, sizeof(seen));
				break;
			}
			tell(sim, &seen, &load);
			speeds_at(sim, next, &speeds);
			sim_step(&check, &policy, &speeds, &load, next);
			memset(&load, 0, sizeof(load));
			memset(&seen, 0, sizeof(seen));
			next += SAMPLE_MS;
			came = 0;
		}
		if (!next)
			next = ms + SAMPLE_MS;

		us = copy_us(sim, i, begin, &policy.now, &load);
		came++;
		end = begin + us;
		result.ms += us / 1000;
		result.share[policy.now.role] += 1. / sim->nr;
	}
	result.changes = policy.changes;
	result.fallbacks = policy.fallbacks;
	result.last = policy.now;
	result.ms += SIM_CHANGE_MS * (policy.changes + policy.fallbacks);
	return result;
}

/* ----- setting up ----- */

void sim_init(struct sim *sim, const struct sim_trace *trace, uint64_t seed,
	      double noise)
{
	struct rng rng = { .state = seed };
	struct sim_batch batch = { 0 };
	unsigned int room = 0;

	memset(sim, 0, sizeof(*sim));
	sim->trace = trace;
	sim->machine = trace->machine;
	sim->seed = rng_next(&rng);
	sim->noise = noise;
	sim->ms = UINT_MAX;
	calibrate(sim);
	for (;;) {
		trace->next(sim, &rng, &batch);
		if (batch.at_us >= SIM_SECONDS * 1e6)
			return;
		if (sim->nr == room) {
			room = 2 * room + 1024;
			sim->batches = realloc(sim->batches,
					       room * sizeof(*sim->batches));
			if (!sim->batches)
				abort();
		}
		sim->batches[sim->nr++] = batch;
	}
}

void sim_free(struct sim *sim)
{
	free(sim->batches);
}
