/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Redis' protocol: an array of bulk strings, or a line of words ("inline command"). */
#pragma once

static inline __attribute__((always_inline)) int resp_line(struct framing *f)
{
	__u8 array = f->inside, wanted = f->wanted;
	__u64 number = f->number;
	if (!array && wanted != '*') {
		/* An empty line is not a command and gets no response. */
		__u8 empty = f->count <= 2;
		f->kind = KIND_OTHER;
		frame_ends(f);
		return empty ? FRAME_SILENT : FRAME_END;
	}
	if (!array) {
		f->kind = KIND_OTHER;
		if (number == 0) {
			frame_ends(f);
			return FRAME_SILENT;
		}
		frame_line_begins(f);
		f->items = number;
		f->inside = 1;
		return FRAME_MORE;
	}
	if (wanted != '$')
		return FRAME_LOST;
	__u8 first = f->inside == 1;
	f->items--;
	f->inside = 2;
	frame_line_begins(f);
	frame_block(f, number + 2, f->items == 0);
	if (first && number >= 3)
		f->mode = MODE_NAME;
	return FRAME_MORE;
}

/* The first bytes of a command's name give its kind; the rest is skipped. */
static inline __attribute__((always_inline)) int resp_name(struct framing *f)
{
	f->block--;
	if (f->count < 3)
		return FRAME_MORE;
	__u32 name = (f->last | 0x202020) & 0xffffff;
	if (f->block == 2 && name == ('g' << 16 | 'e' << 8 | 't'))
		f->kind = KIND_READ;
	else if (f->block == 2 && name == ('s' << 16 | 'e' << 8 | 't'))
		f->kind = KIND_WRITE;
	else if (f->block == 2 && name == ('d' << 16 | 'e' << 8 | 'l'))
		f->kind = KIND_DELETE;
	f->mode = MODE_BLOCK;
	return FRAME_MORE;
}

static inline __attribute__((always_inline)) int resp_byte(struct framing *f, __u8 c)
{
	if (f->mode == MODE_NAME)
		return resp_name(f);
	if (c == '\n')
		return resp_line(f);
	if (f->mode == MODE_START) {
		f->wanted = c == '*' || c == '$' ? c : 0;
		f->mode = f->wanted ? MODE_FIELDS : MODE_LINE;
	} else if (f->mode == MODE_FIELDS) {
		frame_number(f, c);
	}
	return FRAME_MORE;
}
