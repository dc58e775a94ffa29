/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which send answers which request. If one request was read, everything sent before the next read is its response. If
 * several were read together, the number of sends must match one of these styles. Anything else is counted as ambiguous,
 * because a wrong pairing is worse than none.
 *
 *     EACH    one send per request, in order                            nginx, apache
 *     WHOLE   one send for all of them                                  redis
 *     READS   each get sends its value and the responses kept back,     memcached 1.6
 *             and the batch ends with a get
 *     TAIL    the same, plus one send for the requests after the last   memcached 1.6
 *             get, and the batch ends with a complete request
 *
 * If a batch ends within a request, memcached may or may not keep the last responses back until it has read the rest.
 * With TAIL no send can be missing, because an empty read buffer makes memcached send everything that it kept back, and
 * every further send would be one too many. So only a single request is done at once; a batch waits for the next read.
 */
#pragma once

struct losing {
	struct connection *c;
	const struct control *is;
	__u32 at, lost;
};

static long lose_one(__u32 i, struct losing *l)
{
	if (l->at == l->c->seen)
		return 1;
	l->lost += within(l->is, request_at(l->c, l->at++)->e1);
	return 0;
}

/* Count all open requests of a connection as lost for one cause. */
static __attribute__((noinline)) int lose_open(struct connection *c, __u32 cause)
{
	struct control *is = settings();
	if (!c || !is)
		return 0;
	struct losing l = {.c = c, .is = is, .at = c->done};
	bpf_loop(REQUESTS, lose_one, &l, 0);
	count(cause, l.lost);
	c->answered = c->left = c->done = c->seen;
	return 0;
}

/* A send starts that will end at position `end`. */
static inline void answer(struct connection *c, const struct control *is, __u32 end, __u64 now)
{
	c->last_end = end;
	c->last_e5 = now;
	c->sends++;
	__u32 at = c->answered;
	if (at != c->seen) {
		struct request *r = request_at(c, at);
		/* It starts when the last send returned or, if `sent` is not attached, when that send left. */
		__u64 free = c->send_returned > c->last_e6 ? c->send_returned : c->last_e6;
		r->e4 = free > r->e3 ? free : r->e3;
		r->e5 = now;
		r->e6 = 0;
		r->tx_end = end;
		if (is->every)
			r->sender = bpf_get_current_pid_tgid();
		r->cpu_sent = bpf_get_smp_processor_id();
		c->answered = at + 1;
	} else if (c->done != at) { /* the last response goes on */
		struct request *r = request_at(c, at - 1);
		r->tx_end = end;
		r->e6 = 0;
		if (c->left == at)
			c->left = at - 1;
	} else if (c->sends > 1) { /* it went on after it was taken for done: from now on the next read decides */
		c->parts = 1;
		count(PARTS_LATE, 1);
	}
}

struct leaving_now {
	struct connection *c;
	__u64 now;
	__u32 end;
	__u16 peer;
};

/* Complete the oldest response that has not left, if `end` is past it. */
static long leave_one(__u32 i, struct leaving_now *l)
{
	struct connection *c = l->c;
	__u32 at = c->left;
	struct request *r = request_at(c, at);
	if (at == c->answered || before(l->end, r->tx_end))
		return 1;
	r->e6 = l->now;
	if (!handover)
		r->e5 = l->now;
	c->left = at + 1;
	/* The request belongs to a settled batch, or is single and complete. */
	bool lone = !c->parts && c->seen - c->batch == 1 && at == c->batch;
	if (c->done == at && (lone || before(at, c->batch))) {
		c->done = at + 1;
		finish(c, r, at, lone ? 1 : r->batch, l->peer);
	}
	return 0;
}

/* All bytes before `end` were transmitted. */
static inline void transmitted(struct connection *c, __u32 end, __u64 now, __u16 peer)
{
	struct leaving_now l = {.c = c, .now = now, .end = end, .peer = peer};
	c->last_e6 = now;
	c->left_end = end;
	/* There is rarely a second one. */
	if (leave_one(0, &l) == 0 && c->left != c->answered)
		bpf_loop(REQUESTS, leave_one, &l, 0);
}

enum style { EACH, WHOLE, READS, TAIL, UNKNOWN };

struct settling {
	struct connection *c;
	__u32 at;   /* request that is being settled */
	__u32 from; /* request whose send is taken: the k-th send is stored with the k-th request of the batch */
	__u32 batch;
	__u32 style;
	__u16 peer;
};

/* From the last request to the first: take the stamps of its send, which are stored with an earlier request. */
static long take_send(__u32 i, struct settling *s)
{
	struct connection *c = s->c;
	__u32 at = s->at - 1;
	struct request *r = request_at(c, at);
	const struct request *from = request_at(c, s->from);
	r->e4 = from->e4 > r->e3 ? from->e4 : r->e3;
	r->e5 = from->e5;
	r->e6 = from->e6;
	r->tx_end = from->tx_end;
	r->sender = from->sender;
	r->cpu_sent = from->cpu_sent;
	s->at = at;
	if (at == c->batch)
		return 1;
	if (s->style != WHOLE && request_at(c, at - 1)->kind == KIND_READ)
		s->from--;
	return 0;
}

static long settle_one(__u32 i, struct settling *s)
{
	struct connection *c = s->c;
	__u32 at = s->at;
	if (at == c->seen)
		return 1;
	s->at = at + 1;
	struct request *r = request_at(c, at);
	r->batch = s->batch;
	if (r->e6 && c->left == at)
		c->left = at + 1;
	/* A response that has not left yet is done when it leaves. */
	if (c->done == at && before(at, c->left)) {
		c->done = at + 1;
		finish(c, r, at, s->batch, s->peer);
	}
	return 0;
}

static inline __u32 style_of(const struct connection *c, __u32 batch)
{
	if (c->sends == batch)
		return EACH;
	if (protocol == FRAMING_MEMCACHED) {
		if (c->reads && c->read_end == c->seen)
			return c->sends == c->reads ? READS : UNKNOWN;
		bool whole = c->framing.mode == MODE_START && c->framing.count == 0;
		return whole && c->sends == c->reads + 1 ? TAIL : UNKNOWN;
	}
	return c->sends == 1 ? WHOLE : UNKNOWN;
}

/* Close a batch that got responses: further reads start another batch. */
static __attribute__((noinline)) int settle_batch(struct connection *c, __u16 peer)
{
	if (!c)
		return 0;
	__u32 batch = c->seen - c->batch;
	__u32 style = style_of(c, batch);
	if (batch > 1)
		count(BATCHED, 1);
	if (c->overrun || (batch > 1 && style == UNKNOWN)) {
		lose_open(c, c->overrun ? RING_FULL : AMBIGUOUS);
	} else {
		struct settling s = {.c = c, .batch = batch, .style = style, .peer = peer};
		if (style != EACH && batch > 1) {
			s.at = c->seen;
			s.from = c->batch + c->sends - 1;
			if (before(c->batch, c->left))
				c->left = c->batch;
			bpf_loop(REQUESTS, take_send, &s, 0);
			c->answered = c->seen;
		}
		s.at = c->batch;
		bpf_loop(REQUESTS, settle_one, &s, 0);
	}
	c->overrun = 0;
	return 0;
}

static inline void settle(struct connection *c, __u16 peer)
{
	if (!c->sends)
		return;
	/* A single request is done when its response left. */
	if (c->done != c->seen || c->overrun)
		settle_batch(c, peer);
	c->reads = 0;
	c->batch = c->seen;
	c->sends = 0;
}
