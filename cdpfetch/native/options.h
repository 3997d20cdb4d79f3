/* The options of `cdpf fetch`: those that stand for one field of the wire each. */
#ifndef CDPF_OPTIONS_H
#define CDPF_OPTIONS_H

#include "buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Requests of one call; more are for `cdpfetch`, which sends them by and by. */
enum { MAX_URLS = 64, MAX_REQUEST = 1 << 18 };

typedef struct {
    bool json;
    bool content; /* --print */
    bool screenshot;
    bool insecure;
    bool keep_page;
    const char *output_dir;
    const char *format;
    const char *extractor;
    const char *wait_for;
    const char *redirects;
    const char *deadline;
    const char *accept_language;
    const char *engine;
    const char *allow[MAX_URLS];
    size_t allow_count;
    const char *urls[MAX_URLS];
    size_t url_count;
} FetchOptions;

/* Reads the arguments; false for any that `cdpfetch` has to judge. */
bool options_read(FetchOptions *options, char **arguments);

/* Adds the request of a URL as one line. */
void options_request(Buffer *out, const FetchOptions *options, size_t index, const char *directory);

/* A whole number from 1 on of at most six digits, or 0. */
unsigned small_number(const char *text);

#endif
