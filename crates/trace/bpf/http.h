/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* HTTP/1 (RFC 9112): lines up to an empty one, then a body of Content-Length bytes or in chunks. */
#pragma once

/* Lower case without a branch; no other character of header names becomes a letter. */
static inline __attribute__((always_inline)) __u32 http_lower(__u32 word)
{
	return word | 0x20202020;
}

static inline __attribute__((always_inline)) int http_body(struct framing *f)
{
	if (f->chunked == 1) {
		frame_line_begins(f);
		f->chunked = 2;
		f->mode = MODE_FIELDS;
		return FRAME_MORE;
	}
	__u64 body = f->block;
	if (body == 0)
		return frame_ends(f);
	return frame_block(f, body, 1);
}

static inline __attribute__((always_inline)) int http_line(struct framing *f)
{
	__u8 empty = f->count <= 2 && (f->count == 1 || (f->last >> 8 & 0xff) == '\r');
	if (!f->inside) {
		if (empty) { /* tolerated before a request (RFC 9112, section 2.2) */
			frame_line_begins(f);
			return FRAME_MORE;
		}
		f->inside = 1;
		frame_line_begins(f);
		return FRAME_MORE;
	}
	if (f->chunked == 2) { /* the line was a chunk's length, in hexadecimal */
		__u64 length = f->number;
		frame_line_begins(f);
		if (length == 0) {
			f->chunked = 3;
			return FRAME_MORE;
		}
		return frame_block(f, length + 2, 0);
	}
	if (empty)
		return f->chunked == 3 ? frame_ends(f) : http_body(f);
	if (f->wanted == 1 && f->field == 15)
		f->block = f->number;
	frame_line_begins(f);
	return FRAME_MORE;
}

static inline __attribute__((always_inline)) int http_method(struct framing *f)
{
	__u32 verb = f->last;
	f->mode = MODE_LINE;
	f->kind = KIND_OTHER;
	if (verb == VERB('G', 'E', 'T', ' '))
		f->kind = KIND_READ;
	else if (verb == VERB('P', 'O', 'S', 'T'))
		f->kind = KIND_WRITE;
	else if (verb == VERB('P', 'U', 'T', ' '))
		f->kind = KIND_PUT;
	else if (verb == VERB('H', 'E', 'A', 'D'))
		f->kind = KIND_HEAD;
	else if (verb == VERB('D', 'E', 'L', 'E'))
		f->kind = KIND_DELETE;
	return (verb >> 24) - 'A' < 26 ? FRAME_MORE : FRAME_LOST;
}

/* Two headers matter. After their first four letters, the end of the name decides: "-length:" or "ncoding:" at its
 * position; `field` is 15 once it matched. */
static inline __attribute__((always_inline)) int http_header(struct framing *f, __u8 c)
{
	if (f->field == 15) {
		if (f->wanted == 1)
			frame_number(f, c);
		else if ((f->last & 0xffffffff) == VERB('n', 'k', 'e', 'd'))
			f->chunked = 1;
		return FRAME_MORE;
	}
	if (c != ':')
		return FRAME_MORE;
	__u64 name = (f->last >> 8 | 0x20202020202020ull) & 0xffffffffffffffull;
	const __u64 length = (__u64)VERB(0, '-', 'l', 'e') << 32 | VERB('n', 'g', 't', 'h');
	const __u64 coding = (__u64)VERB(0, 'n', 'c', 'o') << 32 | VERB('d', 'i', 'n', 'g');
	if (f->wanted == 1 && f->count == 15 && name == length)
		f->field = 15;
	else if (f->wanted == 2 && f->count == 18 && name == coding)
		f->field = 15;
	else
		f->mode = MODE_LINE;
	return FRAME_MORE;
}

static inline __attribute__((always_inline)) int http_byte(struct framing *f, __u8 c)
{
	if (c == '\n')
		return http_line(f);
	if (f->chunked == 2 && f->inside) {
		__u32 low = c | 0x20;
		if (f->field) /* an extension after the length */
			return FRAME_MORE;
		if (frame_digit(c) < 10 && f->number < (1ull << 40))
			f->number = f->number << 4 | frame_digit(c);
		else if (low - 'a' < 6 && f->number < (1ull << 40))
			f->number = f->number << 4 | (low - 'a' + 10);
		else
			f->field = 1;
		return FRAME_MORE;
	}
	if (f->mode == MODE_FIELDS)
		return http_header(f, c);
	if (f->mode != MODE_START || f->count < 4)
		return FRAME_MORE;
	if (!f->inside)
		return http_method(f);
	__u32 name = http_lower(f->last);
	f->wanted = name == VERB('c', 'o', 'n', 't') ? 1 : name == VERB('t', 'r', 'a', 'n') ? 2 : 0;
	f->mode = f->wanted ? MODE_FIELDS : MODE_LINE;
	return FRAME_MORE;
}
