/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A connection of the server, kept in the socket's storage: no lookup by address is needed, and nothing is left when the
 * socket is gone. Positions are 32-bit TCP sequence numbers, compared with wrap-around.
 *
 *     arrivals   added when data becomes readable, consumed by reads
 *     requests   seen (read) >= answered (has a send) >= left (last byte transmitted) >= done
 */
#pragma once

#define ARRIVALS 64
#define REQUESTS 128

struct arrival {
	__u32 end; /* position after its last byte */
	__u32 cpu;
	__u64 e1, e2;
};

struct request {
	__u64 e1, e2, e3, e4, e5, e6;
	__u32 rx_end, tx_end;
	__u32 reader, sender; /* threads */
	__u32 batch; /* size of its batch, once settled */
	__u16 cpu_in, cpu_read, cpu_sent;
	__u8 kind;
	__u8 known; /* whether its arrival is known; otherwise it is not measured */
};

struct connection {
	/* State for arrivals, on one cache line: it is written on the CPU of the sender. */
	__u32 window; /* window in which it was last followed */
	__u32 arrived, taken;
	__u8 synced; /* whether reads are known to start at a request boundary */
	__u8 parts;  /* responses come in several sends: a request is done when the next one is read */
	__u64 cookie;
	__u64 send_returned; /* when the last send returned to the application */
	__u64 last_e5, last_e6;
	__u32 left_end; /* position after the last transmitted byte */
	__u32 last_end; /* position after the last response, complete or partial */
	__u32 sends;    /* sends since the batch started */
	__u32 seen, answered, left, done;
	__u32 batch;    /* `seen` at the start of the current batch */
	__u32 reads;    /* gets in the batch */
	__u32 read_end; /* `seen` after the last get */
	__u32 overrun; /* requests of the batch that did not fit */
	__u32 base;    /* request in the first slot: whenever none is open, the next one takes this slot, which is in the cache */
	struct framing framing;
	struct arrival arrivals[ARRIVALS];
	struct request requests[REQUESTS];
};

/* A request of any connection. */
struct request_key {
	__u64 cookie;
	__u64 at;
};

static inline struct request *request_at(struct connection *c, __u32 at)
{
	return &c->requests[(at - c->base) & (REQUESTS - 1)];
}

static inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}
