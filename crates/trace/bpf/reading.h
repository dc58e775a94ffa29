/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Parsing of reads: find the ends of requests in the application's buffer. */
#pragma once

#define CHUNK 4096 /* bytes parsed per call; blocks of known length are skipped */
#define CHUNKS 64

struct chunk {
	__u8 bytes[CHUNK + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct chunk);
} chunks SEC(".maps");

#define EARLIER 0xffffffff /* in an earlier read */

struct reading {
	struct connection *c;
	const struct control *is;
	struct chunk *chunk;
	const __u8 *buffer;
	__u64 now;
	__u32 from;   /* position of the first byte */
	__u32 length; /* bytes read */
	__u32 at;     /* bytes parsed */
	__u32 start;  /* byte at which the current request starts, or EARLIER */
	__u32 base, loaded; /* range of the read in the chunk */
	__u32 said;
};

/* The application's buffer, from the system call's arguments: its registers are kept until the call returns. */
static inline const __u8 *buffer_of_read(__u32 got)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	const void *second = (const void *)regs->si;
	struct iovec_read part;
	switch (regs->orig_ax) {
	case 0:  /* read */
	case 45: /* recvfrom */
		return second;
	case 47: /* recvmsg: the vectors stand behind a name and its length */
		if (bpf_probe_read_user(&second, sizeof(second), second + 16))
			return 0;
	case 19: /* readv */
		if (bpf_probe_read_user(&part, sizeof(part), second) || part.length < got)
			return 0;
		return part.base;
	}
	return 0;
}

/* A request ends at position `end`: store what is known of it so far. */
static inline void note_request(struct connection *c, const struct control *is, __u32 end, __u64 now)
{
	if (c->seen - c->done >= REQUESTS) {
		c->overrun++;
		count(SEEN, 1);
		count(RING_FULL, 1);
		return;
	}
	if (c->done == c->seen)
		c->base = c->seen;
	struct request *r = request_at(c, c->seen);
	for (int i = 0; i < ARRIVALS; i++) {
		if (c->taken == c->arrived || !before(c->arrivals[c->taken & (ARRIVALS - 1)].end, end))
			break;
		c->taken++;
	}
	const struct arrival *a = &c->arrivals[c->taken & (ARRIVALS - 1)];
	r->known = c->taken != c->arrived;
	r->e1 = r->known ? a->e1 : now;
	r->e2 = a->e2;
	r->cpu_in = a->cpu;
	r->e3 = now;
	r->e6 = 0;
	r->rx_end = end;
	if (is->every)
		r->reader = bpf_get_current_pid_tgid();
	r->cpu_read = bpf_get_smp_processor_id();
	r->kind = c->framing.kind;
	c->seen++;
	if (within(is, r->e1))
		count(SEEN, 1);
	if (r->kind == KIND_READ) {
		c->reads++;
		c->read_end = c->seen;
	}
}

/* The value set at load time. Without the barrier, the compiler would use the zeros of the initialiser. */
static inline const struct framing_length *length_said(void)
{
	const struct framing_length *at = (const struct framing_length *)&length_field;
	asm volatile("" : "+r"(at));
	return at;
}

static long look(__u32 i, struct reading *r)
{
	struct connection *c = r->c;
	int said;
	if (r->at >= r->length)
		return 1;
	__u32 in = (r->at - r->base) & (CHUNK - 1);
	__u32 loaded = r->at < r->loaded ? r->loaded - r->at : 0;
	__u32 took = frame_step(&c->framing, &r->chunk->bytes[in], loaded, r->length - r->at, protocol,
				length_said(), &said);
	r->at += took;
	if (said == FRAME_MORE)
		return took == 0;
	if (said == FRAME_LOST) {
		r->said = said;
		return 1;
	}
	if (said == FRAME_SILENT) {
		count(SILENT, 1);
	} else {
		if (heads_kept && r->start != EARLIER)
			keep_head(c, c->seen, r->buffer + r->start, r->at - r->start);
		note_request(c, r->is, r->from + r->at, r->now);
	}
	r->start = r->at;
	return 0;
}

static long look_at_chunk(__u32 i, struct reading *r)
{
	if (r->said == FRAME_LOST || r->at >= r->length)
		return 1;
	if (r->c->framing.mode != MODE_BLOCK) {
		__u32 size = r->length - r->at;
		if (size > CHUNK)
			size = CHUNK;
		if (bpf_probe_read_user(r->chunk->bytes, size, r->buffer + r->at))
			return 1;
		r->base = r->at;
		r->loaded = r->at + size;
	}
	bpf_loop(CHUNK, look, r, 0);
	return 0;
}

/* The position of request boundaries is lost: skip reads until the stream is drained. */
static inline void lose_sync(struct connection *c, __u32 cause)
{
	count(cause, 1);
	c->synced = 0;
}

static inline void begin_sync(struct connection *c)
{
	frame_ends(&c->framing);
	c->taken = c->arrived;
	c->synced = 1;
}

/* Without a protocol, all bytes read before a send are one request. */
static inline void note_exchange(struct connection *c, const struct control *is, __u32 end, __u64 now)
{
	if (c->seen != c->batch && !c->sends) {
		c->seen--;
		if (within(is, request_at(c, c->seen)->e1))
			count(SEEN, -1);
	}
	note_request(c, is, end, now);
}

static inline void read_bytes(struct connection *c, const struct control *is, __u32 from, __u32 length, bool drained,
			      __u16 peer)
{
	settle(c, peer);
	if (!c->synced) {
		count(BEFORE, 1);
		if (drained)
			begin_sync(c);
		return;
	}
	__u64 now = bpf_ktime_get_ns();
	if (protocol == FRAMING_NONE)
		return note_exchange(c, is, from + length, now);
	__u32 zero = 0;
	struct reading r = {.c = c, .is = is, .buffer = buffer_of_read(length), .now = now, .from = from, .length = length};
	if (frame_started(&c->framing))
		r.start = EARLIER;
	r.chunk = bpf_map_lookup_elem(&chunks, &zero);
	if (!r.chunk)
		return;
	if (!r.buffer)
		return lose_sync(c, UNREADABLE);
	bpf_loop(CHUNKS, look_at_chunk, &r, 0);
	if (r.said == FRAME_LOST)
		lose_sync(c, UNFRAMED);
	else if (r.at < r.length)
		lose_sync(c, UNREADABLE);
	else if (heads_kept && r.start < length)
		keep_head(c, c->seen, r.buffer + r.start, length - r.start);
}
