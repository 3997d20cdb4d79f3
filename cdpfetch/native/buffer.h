/* A growing run of bytes.  Running out of memory ends the program, so nothing here can fail. */
#ifndef CDPF_BUFFER_H
#define CDPF_BUFFER_H

#include <stddef.h>

typedef struct {
    const char *data;
    size_t size;
} Slice;

typedef struct {
    char *data;
    size_t size;
    size_t room;
} Buffer;

/* Memory that is released all at once. */
typedef struct Block Block;
typedef struct {
    Block *blocks;
} Arena;

void *allocate(size_t size);
void buffer_add(Buffer *buffer, const void *data, size_t size);
void buffer_text(Buffer *buffer, const char *text);
void buffer_char(Buffer *buffer, char character);
void buffer_slice(Buffer *buffer, Slice slice);
void buffer_format(Buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_free(Buffer *buffer);
Slice buffer_view(const Buffer *buffer);

Slice slice_of(const char *text);
int slice_is(Slice slice, const char *text);
char *slice_copy(Slice slice); /* with a closing NUL; to be freed */

void *arena_take(Arena *arena, size_t size);
void arena_free(Arena *arena);

#endif
