/* JSON as Python's json module reads and writes it. */
#ifndef CDPF_JSON_H
#define CDPF_JSON_H

#include "buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { JSON_DEPTH = 100, JSON_MEMBERS = 4096 };

typedef enum { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

typedef struct Json Json;
struct Json {
    JsonKind kind;
    Slice text;  /* the characters of a string; a number as it stood */
    Slice name;  /* in an object: its key */
    Json *first; /* what an array or object holds, in order */
    Json *last;
    Json *next;
};

/* A value, or NULL when the text is none, is nested deeper than JSON_DEPTH, or has an object of more than JSON_MEMBERS.
   The value lives as long as both the text and the arena. */
Json *json_parse(Arena *arena, Slice text);

/* Adds a value as json.dumps(value, ensure_ascii=False) with DEL and C1 controls escaped, ready for a stream. */
void json_print(Buffer *out, const Json *value);

/* Adds one string, quoted; for a request (`exact`), or like json_print. */
void json_quote(Buffer *out, Slice text, bool exact);

Json *json_get(const Json *object, const char *name); /* NULL when it is not there, or no object was given */
void json_put(Json *object, Json *member);            /* replaces the value of a key, or adds it at the end */
bool json_is(const Json *value, JsonKind kind);
bool json_truthy(const Json *value);

/* Whether a value is an integer from 0 to 10^15. */
bool json_count(const Json *value, uint64_t *count);

#endif
