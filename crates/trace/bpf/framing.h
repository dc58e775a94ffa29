/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The end of requests in a byte stream. Plain C without kernel headers, so that tests can compile it.
 *
 * Only the boundary and the kind of a request are kept. Two shortcuts skip most bytes: the search for a newline reads
 * eight bytes at once, and blocks of known length are skipped.
 *
 *     line mode      "get some-key\r\n"            START (4 bytes: the verb) -> LINE (to the newline)
 *     fields mode    "set k 0 0 5\r\nhello\r\n"    START -> FIELDS (a number in it) -> BLOCK
 */
#pragma once

enum framing_protocol { FRAMING_NONE, FRAMING_MEMCACHED, FRAMING_HTTP, FRAMING_RESP, FRAMING_LENGTH };
enum framing_mode { MODE_START, MODE_LINE, MODE_FIELDS, MODE_NAME, MODE_BLOCK };
enum framing_said { FRAME_MORE, FRAME_END, FRAME_SILENT, FRAME_LOST };

/* Kinds of requests; src/framing.rs has each protocol's names in this order. */
enum { KIND_OTHER, KIND_READ, KIND_WRITE, KIND_DELETE, KIND_HEAD, KIND_PUT, KINDS = 8 };

struct framing {
	__u64 last;   /* the last 8 bytes, or the bytes of a length field */
	__u64 number; /* the number in a line that has one */
	__u64 block;  /* bytes of the block still to skip; in an HTTP head, bytes of the body */
	__u32 items;  /* RESP: remaining elements */
	__u8 count;   /* bytes of the line so far, at most 255 */
	__u8 field;   /* spaces passed in the line, or position in a header's name */
	__u8 wanted;  /* field whose number is needed */
	__u8 mode;
	__u8 kind;
	__u8 inside;  /* HTTP: after the first line; RESP: inside an array */
	__u8 chunked; /* HTTP: 1 announced in the head, 2 within chunks, 3 after the last */
	__u8 after;   /* BLOCK: 1 the request ends with it, 2 it ends and gets no response */
};

/* For length-prefixed messages: offset and width of the length field in bytes, and what to add to the length. */
struct framing_length {
	__u32 offset, width, little;
	__s32 more;
};

static inline __attribute__((always_inline)) void frame_line_begins(struct framing *f)
{
	f->last = 0;
	f->number = 0;
	f->count = 0;
	f->field = 0;
	f->wanted = 0;
	f->mode = MODE_START;
}

static inline __attribute__((always_inline)) int frame_ends(struct framing *f)
{
	frame_line_begins(f);
	f->inside = 0;
	f->chunked = 0;
	f->block = 0;
	f->items = 0;
	return FRAME_END;
}

static inline __attribute__((always_inline)) int frame_block(struct framing *f, __u64 length, __u8 ends)
{
	f->block = length;
	f->after = ends;
	f->mode = MODE_BLOCK;
	return FRAME_MORE;
}

/* Whether a request has started but not ended. */
static inline __attribute__((always_inline)) int frame_started(const struct framing *f)
{
	return f->mode != MODE_START || f->count || f->inside;
}

static inline __attribute__((always_inline)) int frame_rest_of_line(const struct framing *f)
{
	return f->mode == MODE_LINE;
}

/* Value of a digit, or a large number for other characters. */
static inline __attribute__((always_inline)) __u32 frame_digit(__u8 c)
{
	return (__u32)c - '0';
}

static inline __attribute__((always_inline)) void frame_number(struct framing *f, __u8 c)
{
	__u32 digit = frame_digit(c);
	if (digit < 10 && f->number < (1ull << 40))
		f->number = f->number * 10 + digit;
}

#define VERB(a, b, c, d) ((__u32)(a) << 24 | (__u32)(b) << 16 | (__u32)(c) << 8 | (__u32)(d))

#include "memcached.h"
#include "http.h"
#include "resp.h"

/* Messages with their length in a field at a fixed place. */
static inline __attribute__((always_inline)) int length_byte(struct framing *f, __u8 c, const struct framing_length *of)
{
	__u32 at = f->count; /* one more than the byte's place */
	if (at <= of->offset)
		return FRAME_MORE;
	if (of->little)
		f->number |= (__u64)c << (8 * ((at - of->offset - 1) & 7));
	else
		f->number = f->number << 8 | c;
	if (at < of->offset + of->width)
		return FRAME_MORE;
	__s64 rest = (__s64)f->number + of->more;
	if (rest < 0)
		return FRAME_LOST;
	if (rest == 0)
		return frame_ends(f);
	return frame_block(f, rest, 1);
}

/* Skip up to `have` bytes of a block. Return their number, and whether a request ended with them in `said`. */
static inline __attribute__((always_inline)) __u64 frame_jump(struct framing *f, __u64 have, int *said)
{
	__u64 passed = have < f->block ? have : f->block;
	f->block -= passed;
	*said = FRAME_MORE;
	if (f->block == 0) {
		__u8 after = f->after;
		if (after)
			frame_ends(f);
		else
			frame_line_begins(f);
		*said = after == 1 ? FRAME_END : after ? FRAME_SILENT : FRAME_MORE;
	}
	return passed;
}

/* Parse one byte, in any mode except MODE_BLOCK. */
static inline __attribute__((always_inline)) int
frame_byte(struct framing *f, __u8 c, __u32 protocol, const struct framing_length *of)
{
	f->last = f->last << 8 | c;
	if (f->count < 255)
		f->count++;
	if (protocol == FRAMING_MEMCACHED)
		return memcached_byte(f, c);
	if (protocol == FRAMING_HTTP)
		return http_byte(f, c);
	if (protocol == FRAMING_RESP)
		return resp_byte(f, c);
	return length_byte(f, c, of);
}

/* Position in bytes of the first newline in a word of memory, or 8. For little-endian machines. */
static inline __attribute__((always_inline)) __u32 frame_newline(__u64 word)
{
	__u64 x = word ^ 0x0a0a0a0a0a0a0a0aull;
	__u64 t = (x - 0x0101010101010101ull) & ~x & 0x8080808080808080ull;
	if (!t)
		return 8;
	t &= -t;
	return ((t >> 32) != 0) * 4 + ((t & 0xffff0000ffff0000ull) != 0) * 2 + ((t & 0xff00ff00ff00ff00ull) != 0);
}

/* Whether the first four bytes of a line can be parsed together: all but the last must be letters. */
static inline __attribute__((always_inline)) int frame_begins(const struct framing *f, __u32 word, __u32 protocol)
{
	if (f->mode != MODE_START || f->count || f->chunked == 2)
		return 0;
	if (protocol != FRAMING_MEMCACHED && protocol != FRAMING_HTTP)
		return 0;
	/* Letters of both cases have this bit; newline and carriage return do not. */
	return (word & 0x404040) == 0x404040 && (protocol != FRAMING_MEMCACHED || (word & 0xff) - 'a' < 26);
}

/*
 * One step: a block, the start of a line, up to eight bytes of a line and its end, or one byte. Return the number of
 * bytes parsed. Of the `rest` bytes of a read, the first `loaded` can be read (loading eight is always safe); if there
 * are none, only a block can be skipped.
 */
static inline __attribute__((always_inline)) __u32 frame_step(struct framing *f, const __u8 *bytes, __u32 loaded,
							      __u32 rest, __u32 protocol,
							      const struct framing_length *of, int *said)
{
	__u32 took = 1;
	__u8 next = *bytes;
	*said = FRAME_MORE;
	if (f->mode == MODE_BLOCK)
		return frame_jump(f, rest, said);
	if (loaded == 0)
		return 0;
	__u64 word = *(const __u64 *)bytes;
	if (frame_rest_of_line(f)) {
		__u32 ahead = frame_newline(word);
		if (ahead) {
			f->count = 255;
			if (ahead >= loaded)
				return loaded < 8 ? loaded : 8;
			if (ahead == 8)
				return 8;
			took = ahead + 1;
			next = '\n';
		}
	} else if (loaded >= 4 && frame_begins(f, word, protocol)) {
		f->last = (word & 0xff) << 16 | (word & 0xff00) | (word >> 16 & 0xff);
		f->count = 3;
		f->kind = f->inside ? f->kind : KIND_OTHER;
		took = 4;
		next = word >> 24;
	}
	*said = frame_byte(f, next, protocol, of);
	return took;
}
