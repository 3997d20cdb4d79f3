#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 1 << 16 };

struct Block {
    Block *next;
    size_t used;
    size_t room;
    max_align_t data[];
};

void *allocate(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        fputs("cdpfetch: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void grow(Buffer *buffer, size_t more) {
    if (more <= buffer->room - buffer->size) {
        return;
    }
    if (more > SIZE_MAX / 4 || buffer->size > SIZE_MAX / 4) {
        fputs("cdpfetch: out of memory\n", stderr);
        exit(1);
    }
    size_t room = buffer->room ? buffer->room * 2 : 256;
    if (room < buffer->size + more) {
        room = buffer->size + more;
    }
    char *data = allocate(room);
    if (buffer->size) {
        memcpy(data, buffer->data, buffer->size);
    }
    free(buffer->data);
    buffer->data = data;
    buffer->room = room;
}

void buffer_add(Buffer *buffer, const void *data, size_t size) {
    if (!size) {
        return;
    }
    grow(buffer, size);
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
}

void buffer_text(Buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

void buffer_char(Buffer *buffer, char character) {
    buffer_add(buffer, &character, 1);
}

void buffer_slice(Buffer *buffer, Slice slice) {
    buffer_add(buffer, slice.data, slice.size);
}

void buffer_format(Buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size > 0) {
        grow(buffer, (size_t)size + 1);
        vsnprintf(buffer->data + buffer->size, (size_t)size + 1, format, again);
        buffer->size += (size_t)size;
    }
    va_end(again);
}

void buffer_free(Buffer *buffer) {
    free(buffer->data);
    *buffer = (Buffer){0};
}

Slice buffer_view(const Buffer *buffer) {
    return (Slice){buffer->data, buffer->size};
}

Slice slice_of(const char *text) {
    return (Slice){text, strlen(text)};
}

int slice_is(Slice slice, const char *text) {
    size_t size = strlen(text);
    return slice.size == size && (!size || memcmp(slice.data, text, size) == 0);
}

char *slice_copy(Slice slice) {
    char *copy = allocate(slice.size + 1);
    if (slice.size) {
        memcpy(copy, slice.data, slice.size);
    }
    copy[slice.size] = '\0';
    return copy;
}

void *arena_take(Arena *arena, size_t size) {
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    Block *block = arena->blocks;
    if (!block || block->room - block->used < size) {
        size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = allocate(sizeof(Block) + room);
        *block = (Block){.next = arena->blocks, .used = 0, .room = room};
        arena->blocks = block;
    }
    void *memory = (char *)block->data + block->used;
    block->used += size;
    return memory;
}

void arena_free(Arena *arena) {
    while (arena->blocks) {
        Block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
