/* Which URLs surely go to the daemon. */
#ifndef CDPF_URL_H
#define CDPF_URL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether no fetcher but the local one can want a URL, judged without parsing it as a browser would: what has anything
   unusual before its path, or names GitHub anywhere, is not plain. */
bool url_is_plain(const char *url);

/* Whether two URLs can't be two spellings of one. */
bool urls_differ(const char *one, const char *other);

#endif
