/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A machine that copies batches of pages, and what others do on it meanwhile.  It
 * knows nothing of how the policy reckons: a batch's time comes from threads that
 * wake up late and share a memory bus, and from channels with descriptors to fill in,
 * and calibrating it is to measure a few of its batches.
 */
#ifndef _NATIVE_SIM_H
#define _NATIVE_SIM_H

#include "model.h"

#include "mm/foliolift/policy.h"

struct sim_machine {
	unsigned int helpers;	/* CPUs beside the one that migrates */
	double cpu_ns;		/* one CPU copies a page */
	double contention;	/* each further thread slows all of them by so much */
	double bus;		/* speed of the memory, in CPUs' copying */
	unsigned int channels;
	double dma_ns;		/* one channel copies a page */
	double dma_contention;
	double dma_start_ns;
};

struct sim_batch {
	double at_us;		/* when it comes; it waits for the one before */
	unsigned int pages;
};

struct sim;

/*
 * One of each: what happens.  Times are in milliseconds; whatever is random has to
 * come from sim_random(), so that it is the same whoever asks and however often.
 */
struct sim_trace {
	const char *name;
	const struct sim_machine *machine;
	/* The next batch; @batch is the one before. */
	void (*next)(struct sim *sim, struct rng *rng, struct sim_batch *batch);
	/* Are helper CPU @cpu, channel @channel at work for others? */
	bool (*cpu_busy)(const struct sim *sim, unsigned int cpu, unsigned int ms);
	bool (*channel_busy)(const struct sim *sim, unsigned int channel,
			     unsigned int ms);
	/* Is the engine there? */
	bool (*present)(enum foliolift_role role, unsigned int ms);
	bool hidden;		/* others' use of the channels is not told */
	unsigned int max_changes; /* of role */
};

struct sim {
	const struct sim_trace *trace;
	const struct sim_machine *machine;
	uint64_t seed;
	double noise;		/* of calibration, 0.01: 1 % either way */
	struct foliolift_speeds speeds;
	struct sim_batch *batches;
	unsigned int nr;
	/* State of the CPUs and channels in this millisecond. */
	unsigned int ms, idle, free;
};

struct sim_result {
	double ms;		/* spent copying and changing roles */
	unsigned int changes, fallbacks;
	struct foliolift_choice last;
	double share[FOLIOLIFT_NR_ROLES]; /* of the batches, by the role in force */
};

#define SIM_SECONDS	60
/* What patching the call costs. */
#define SIM_CHANGE_MS	0.1

/* 0 to 1, always the same for the same arguments. */
double sim_random(const struct sim *sim, unsigned int what, unsigned int when);

void sim_init(struct sim *sim, const struct sim_trace *trace, uint64_t seed,
	      double noise);
void sim_free(struct sim *sim);
/* Play the trace with one choice all the time. */
double sim_fixed(struct sim *sim, const struct foliolift_choice *choice);
/* The best of them. */
double sim_best_fixed(struct sim *sim, struct foliolift_choice *best);
/* Play it with the policy, which is checked at every step. */
struct sim_result sim_policy(struct sim *sim);

/*
 * What must hold after every step, whatever happens.  The caller keeps @check from
 * step to step; it begins as zeroes.
 */
#define SIM_NR_CHANGES	1024

struct sim_check {
	struct foliolift_policy before;
	uint64_t changed_ms[SIM_NR_CHANGES];
	unsigned int nr;
};

void sim_step(struct sim_check *check, struct foliolift_policy *policy,
	      const struct foliolift_speeds *speeds,
	      const struct foliolift_load *load, uint64_t now_ms);

extern const struct sim_trace sim_traces[];
extern const unsigned int sim_nr_traces;

#endif /* _NATIVE_SIM_H */
