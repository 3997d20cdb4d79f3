/* Documents: what a failure looks like as one (calls.py, artifacts.py), and what is said of each (delivery.py). */
#ifndef CDPF_DOCUMENT_H
#define CDPF_DOCUMENT_H

#include "buffer.h"
#include "json.h"

typedef struct {
    const char *code;
    Slice reason;
    const Json *hint; /* NULL, or the value of the hint */
} Failure;

/* A document with every key and its neutral value. */
Json *document_new(Arena *arena, Slice url);

/* The document of a URL that failed; what the daemon sent of it (or NULL) is completed. */
Json *document_failed(Arena *arena, Slice url, const Failure *failure, const Json *sent);

/* A code as it is when it is one of ours, else "internal". */
const char *known_code(const Json *code);

/* Adds the lines of a good document; of a failed one. */
void document_entry(Buffer *out, unsigned number, const Json *document);
void document_failure(Buffer *out, const Json *document);

/* The body that serves a format (reading.py), or NULL. */
const Json *document_body(const Json *document, const char *format);

/* Adds reason and hint of a document without such a body. */
void document_lacks(Buffer *reason, Buffer *hint, const Json *document, const char *format);

/* The text of a string or number, else nothing. */
Slice json_text(const Json *value);

#endif
