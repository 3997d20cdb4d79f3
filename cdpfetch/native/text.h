/* Texts as Python sees them: code points, lone surrogates included, held as three-byte sequences. */
#ifndef CDPF_TEXT_H
#define CDPF_TEXT_H

#include "buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { LINE_LIMIT = 500, URL_LIMIT = 2048, EXCERPT_LIMIT = 260 };

/* Whether bytes are UTF-8; surrogates pass where that is asked for (Python's "surrogatepass"). */
bool text_is_utf8(Slice text, bool surrogates);

/* The code point at *position of valid text, which is moved on. */
uint32_t text_next(Slice text, size_t *position);

/* Adds a code point as its bytes; a surrogate as the three that text_next reads. */
void text_put(Buffer *out, uint32_t point);

/* Adds text as it is written to a stream: a lone surrogate becomes its escape (Python's "backslashreplace"). */
void text_write(Buffer *out, Slice text);

/* Adds delivery.one_line of text: one line of at most limit characters, without control characters. */
void text_one_line(Buffer *out, Slice text, size_t limit);

/* Adds delivery.human_bytes. */
void text_human_bytes(Buffer *out, uint64_t count);

#endif
