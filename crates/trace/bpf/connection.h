/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A connection of the server, kept in the socket's own storage: nothing has to be looked up by address, and nothing
 * is left when the socket goes. Positions are 32-bit TCP sequence numbers, compared with wrap.
 *
 *     arrivals   written when data became readable, used up by reads
 *     requests   seen (read) >= answered (a send belongs to it) >= left (its last byte was transmitted) >= done
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
	__u32 batch; /* requests in it, once it is settled */
	__u16 cpu_in, cpu_read, cpu_sent;
	__u8 kind;
	__u8 known; /* where its arrival was known: else it is no measurement */
};

struct connection {
	/* What an arrival needs, on one cache line: it comes on the processor of whoever sent. */
	__u32 window; /* the stretch of time in which it was followed last */
	__u32 arrived, taken;
	__u8 synced; /* whether reads are known to begin where a request does */
	__u8 parts;  /* responses come in several sends: a request is done when the next one is read */
	__u64 cookie;
	__u64 send_returned; /* when the latest send returned to the application */
	__u64 last_e5, last_e6;
	__u32 left_end; /* position after the latest byte transmitted */
	__u32 last_end; /* position after the latest response, whole or in parts */
	__u32 sends;    /* since the batch began */
	__u32 seen, answered, left, done;
	__u32 batch;    /* `seen` where the present batch began */
	__u32 reads;    /* gets in it */
	__u32 read_end; /* `seen` behind the last get */
	__u32 overrun; /* requests of the batch for which there was no room */
	struct framing framing;
	struct arrival arrivals[ARRIVALS];
	struct request requests[REQUESTS];
};

static inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}
