/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What user space reads: settings, causes of loss, sums of moments, records. src/layout.rs has the same layout. */
#pragma once

/* Each request seen is done, counted under one of these, or still open: every lost request has a cause. */
enum count {
	SEEN,           /* requests whose last byte was read */
	DONE,           /* all six stamps known: added to the sums */
	NO_ARRIVAL,     /* the arrival was not seen: more segments were unread than are kept */
	RING_FULL,      /* more requests were open on a connection than are kept */
	AMBIGUOUS,      /* it is unclear which send of a batch answered which request */
	CLOSED,         /* the connection closed before the response */
	SILENT,         /* requests without response; not counted as seen */
	BEFORE,         /* reads of connections before the first known boundary of requests */
	UNFRAMED,       /* bytes that are not a request of this protocol */
	UNREADABLE,     /* reads whose buffer could not be read */
	PARTS_LATE,     /* responses that continued after they were counted as done */
	STAMP_MISSING,  /* arrivals without network stamp: e1 is then e2 */
	RECORDS_LOST,   /* full records that did not fit in the ring buffer */
	CONNECTIONS,    /* followed connections */
	BATCHED,        /* batches of several requests */
	NOT_BEGUN,      /* requests for which the function that starts requests was not called */
	ASTRAY,         /* calls of that function that start no request */
	ARRIVED,        /* segments that arrived on followed connections */
	DATAGRAMS,      /* UDP datagrams to the same port, which are not followed */
	COUNTS = 19,
};

/* Variables whose moments are summed: five stages, then the size of the batch. */
#define VARIABLES 6
#define PRODUCTS 21

struct sums {
	__u64 n;
	__u64 sum[VARIABLES];
	__u64 total, total_low, total_high; /* sum of e6 - e1 and of its square, to check the parts */
	__u64 low[PRODUCTS];  /* sums of x[i] * x[j], i <= j, row by row: exact in 128 bits */
	__u64 high[PRODUCTS];
};

struct record {
	__u64 cookie;
	__u64 e1, e2, e3, e4, e5, e6;
	__u32 rx_end, tx_end;
	__u32 reader, sender;
	__u16 cpu_in, cpu_read, cpu_sent, cpu_left;
	__u16 port; /* the client's */
	__u16 batch;
	__u8 kind;
	__u8 spare[3];
};

/* Settings that change while the probes run. */
struct control {
	__u64 ahead; /* CLOCK_REALTIME - CLOCK_MONOTONIC, in ns */
	__u32 bank;  /* bank of sums to write; the other one is read */
	__u32 every; /* record every n-th request in full; 0: none */
	__u64 until; /* requests that arrive later are not of this window */
	__u32 window; /* number of the window, from 1; the state of a connection belongs to one window */
	__u32 spare;
	__u64 since; /* requests that arrived earlier are not of this window either */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * KINDS);
	__type(key, __u32);
	__type(value, struct sums);
} sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} records SEC(".maps");

static inline void count(__u32 which, __u64 by)
{
	__u64 *at = bpf_map_lookup_elem(&counts, &which);
	if (at)
		*at += by;
}

/* Whether a request that arrived at e1 belongs to the window. */
static inline bool within(const struct control *is, __u64 e1)
{
	return e1 >= is->since && e1 < is->until;
}

static inline struct control *settings(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&control, &zero);
}

/* Duration of a stage in ns: never negative, and saturated at 4.29 s instead of dropped, so that no tail is cut. */
static inline __u64 stage(__u64 from, __u64 to)
{
	__u64 ns = to > from ? to - from : 0;
	return ns > 0xffffffff ? 0xffffffff : ns;
}

static inline void add_wide(__u64 *low, __u64 *high, __u64 by)
{
	__u64 was = *low;
	*low = was + by;
	*high += *low < was;
}

static inline void add_product(struct sums *s, int at, __u64 a, __u64 b)
{
	add_wide(&s->low[at], &s->high[at], a * b);
}

#include "begun.h"
#include "head.h"

struct record_with_head {
	struct record record;
	struct head head;
};

static inline void fill_record(struct record *to, const struct connection *c, const struct request *r, __u16 port,
			       __u32 batch)
{
	to->cookie = c->cookie;
	to->e1 = r->e1;
	to->e2 = r->e2;
	to->e3 = r->e3;
	to->e4 = r->e4;
	to->e5 = r->e5;
	to->e6 = r->e6;
	to->rx_end = r->rx_end;
	to->tx_end = r->tx_end;
	to->reader = r->reader;
	to->sender = r->sender;
	to->cpu_in = r->cpu_in;
	to->cpu_read = r->cpu_read;
	to->cpu_sent = r->cpu_sent;
	to->cpu_left = bpf_get_smp_processor_id();
	to->port = port;
	to->batch = batch > 0xffff ? 0xffff : batch;
	to->kind = r->kind;
	__builtin_memset(to->spare, 0, sizeof(to->spare));
}

static inline void record_request(const struct connection *c, const struct request *r, __u32 at, __u16 port, __u32 batch)
{
	struct record_with_head *whole = 0;
	struct record *to = 0;
	if (heads_kept)
		whole = bpf_ringbuf_reserve(&records, sizeof(*whole), 0);
	else
		to = bpf_ringbuf_reserve(&records, sizeof(*to), 0);
	if (whole) {
		fill_record(&whole->record, c, r, port, batch);
		take_head(c, at, &whole->head);
		bpf_ringbuf_submit(whole, BPF_RB_NO_WAKEUP);
	} else if (to) {
		fill_record(to, c, r, port, batch);
		bpf_ringbuf_submit(to, BPF_RB_NO_WAKEUP);
	} else {
		count(RECORDS_LOST, 1);
	}
}

/* Add a complete request to the sums, and every n-th to the records. */
static __attribute__((noinline)) int finish(struct connection *c, struct request *r, __u32 at, __u32 batch, __u16 port)
{
	struct control *is = settings();
	if (!c || !r || !is)
		return 0;
	if (!within(is, r->e1))
		return 0;
	if (!r->known) {
		count(NO_ARRIVAL, 1);
		return 0;
	}
	if (shown)
		take_begun(c, r, at);
	__u32 kind = (is->bank & 1) * KINDS + (r->kind & (KINDS - 1));
	struct sums *s = bpf_map_lookup_elem(&sums, &kind);
	if (!s)
		return 0;
	__u64 a = stage(r->e1, r->e2), b = stage(r->e2, r->e3), d = stage(r->e3, r->e4), e = stage(r->e4, r->e5),
	      f = stage(r->e5, r->e6), g = batch;
	__u64 n = s->n;
	s->n = n + 1;
	s->sum[0] += a;
	s->sum[1] += b;
	s->sum[2] += d;
	s->sum[3] += e;
	s->sum[4] += f;
	s->sum[5] += g;
	__u64 whole = stage(r->e1, r->e6);
	s->total += whole;
	add_wide(&s->total_low, &s->total_high, whole * whole);
	add_product(s, 0, a, a);
	add_product(s, 1, a, b);
	add_product(s, 2, a, d);
	add_product(s, 3, a, e);
	add_product(s, 4, a, f);
	add_product(s, 5, a, g);
	add_product(s, 6, b, b);
	add_product(s, 7, b, d);
	add_product(s, 8, b, e);
	add_product(s, 9, b, f);
	add_product(s, 10, b, g);
	add_product(s, 11, d, d);
	add_product(s, 12, d, e);
	add_product(s, 13, d, f);
	add_product(s, 14, d, g);
	add_product(s, 15, e, e);
	add_product(s, 16, e, f);
	add_product(s, 17, e, g);
	add_product(s, 18, f, f);
	add_product(s, 19, f, g);
	add_product(s, 20, g, g);
	count(DONE, 1);
	if (is->every && n % is->every == 0)
		record_request(c, r, at, port, batch);
	return 0;
}
