/* Standard output and standard error, as cli/output.py writes them. */
#ifndef CDPF_OUTPUT_H
#define CDPF_OUTPUT_H

#include "buffer.h"
#include "json.h"

/* Exact bytes, at once; ends the program with status 1 when nobody reads them any more. */
void write_out(const Buffer *data);
void write_error(const Buffer *data);

/* An error, with its hint on a second line; `url` may be empty. */
void complain(Slice url, Slice reason, Slice hint);

/* A whole file of at most `limit` bytes; the error number, or 0.  A larger one is EFBIG, what is no regular file EINVAL. */
int read_file(const char *path, size_t limit, Buffer *data);

#endif
