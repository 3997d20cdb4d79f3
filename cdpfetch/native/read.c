/* `cdpf read`: a page of a document, from disk (reading.py); sections, searches and errors are for `cdpfetch`. */
#include "document.h"
#include "handover.h"
#include "home.h"
#include "options.h"
#include "output.h"
#include "text.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_LIMIT = 80,
    MAX_LIMIT = 200,
    PAGE_BYTES = 8192,
    PIECE_BYTES = 2048,
    MAX_METADATA = 1 << 22,
    MAX_BODY = 1 << 26,
    ID_MAX = 120,
    ID_RANDOM = 8,
};

typedef struct {
    const char *id;
    const char *format;
    unsigned offset;
    unsigned limit;
    bool json;
} ReadOptions;

/* A page of pieces: lines, or parts of long ones. */
typedef struct {
    Slice text;
    unsigned long next; /* the number of the piece after it, 0 when there is none */
    unsigned long total;
} Page;

static bool is_format(const char *text) {
    return strcmp(text, "markdown") == 0 || strcmp(text, "text") == 0 || strcmp(text, "source") == 0 ||
           strcmp(text, "html") == 0;
}

static bool read_options(ReadOptions *options, char **arguments) {
    *options = (ReadOptions){.format = "markdown", .offset = 1, .limit = DEFAULT_LIMIT};
    for (; *arguments; arguments++) {
        const char *name = *arguments;
        if (strcmp(name, "--json") == 0) {
            options->json = true;
        } else if (*name != '-') {
            if (options->id) {
                return false;
            }
            options->id = name;
        } else if (!*++arguments) {
            return false;
        } else if (strcmp(name, "--format") == 0 && is_format(*arguments)) {
            options->format = *arguments;
        } else if (strcmp(name, "--offset") == 0 && small_number(*arguments)) {
            options->offset = small_number(*arguments);
        } else if (strcmp(name, "--limit") == 0 && small_number(*arguments)) {
            options->limit = small_number(*arguments);
        } else {
            return false;
        }
    }
    options->limit = options->limit < MAX_LIMIT ? options->limit : MAX_LIMIT;
    return options->id != NULL;
}

/* Whether a text is a fetch id, and so is safe as one path part. */
static bool is_fetch_id(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t size = strlen(text);
    const char *tail = strrchr(text, '-');
    return size <= ID_MAX && tail && tail > text && strchr(plain, *text) && strspn(tail + 1, plain) == strlen(tail + 1) &&
           strlen(tail + 1) >= ID_RANDOM && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == size;
}

/* The size of the piece at a place: a line with its line feed, or a part of it that ends between characters. */
static size_t piece_at(Slice text, size_t at) {
    const char *end = memchr(text.data + at, '\n', text.size - at);
    size_t size = (end ? (size_t)(end - text.data) + 1 : text.size) - at;
    if (size <= PIECE_BYTES) {
        return size;
    }
    size = PIECE_BYTES;
    while (size > PIECE_BYTES - 4 && ((unsigned char)text.data[at + size] & 0xC0) == 0x80) {
        size--;
    }
    return size;
}

static Page page_of(Slice text, unsigned offset, unsigned limit) {
    Page page = {0};
    bool full = false;
    unsigned taken = 0;
    for (size_t at = 0; at < text.size;) {
        size_t size = piece_at(text, at);
        page.total++;
        if (page.total >= offset && !full) {
            if (taken && (taken == limit || page.text.size + size > PAGE_BYTES)) {
                page.next = page.total;
                full = true;
            } else {
                page.text = (Slice){taken ? page.text.data : text.data + at, page.text.size + size};
                taken++;
            }
        }
        at += size;
    }
    return page;
}

static void add_field(Buffer *out, const char *name, const char *text) {
    buffer_format(out, "\"%s\": ", name);
    json_quote(out, slice_of(text), false);
    buffer_text(out, ", ");
}

static void print_json(const ReadOptions *options, const Page *page, const char *name, const char *path) {
    Buffer out = {0};
    buffer_char(&out, '{');
    add_field(&out, "fetch_id", options->id);
    add_field(&out, "format", options->format);
    add_field(&out, "name", name);
    add_field(&out, "path", path);
    buffer_format(&out, "\"offset\": %u, \"limit\": %u, \"text\": ", options->offset, options->limit);
    json_quote(&out, page->text, false);
    if (page->next) {
        buffer_format(&out, ", \"next_offset\": %lu", page->next);
    } else {
        buffer_text(&out, ", \"next_offset\": null");
    }
    buffer_format(&out, ", \"total_lines\": %lu}\n", page->total);
    write_out(&out);
    buffer_free(&out);
}

static void print_text(const Page *page) {
    Buffer out = {0};
    buffer_slice(&out, page->text);
    write_out(&out);
    buffer_free(&out);
}

/* The name of the body that serves a format, and its path; false where `cdpfetch` has to look. */
static bool find_body(const Home *home, const ReadOptions *options, Buffer *name, Buffer *path) {
    Arena arena = {0};
    Buffer metadata = {0};
    buffer_format(path, "%s/%s/", home->artifacts, options->id);
    size_t directory = path->size;
    buffer_add(path, "metadata.json", sizeof "metadata.json");
    bool good = read_file(path->data, MAX_METADATA, &metadata) == 0;
    const Json *document = good ? json_parse(&arena, buffer_view(&metadata)) : NULL;
    Slice found = json_text(json_get(document_body(document, options->format), "name"));
    good = found.size && slice_is(json_text(json_get(document, "fetch_id")), options->id) &&
           !memchr(found.data, '/', found.size) && !memchr(found.data, '\0', found.size) && text_is_utf8(found, false);
    path->size = directory;
    buffer_slice(path, found);
    buffer_char(path, '\0');
    buffer_slice(name, found);
    buffer_char(name, '\0');
    buffer_free(&metadata);
    arena_free(&arena);
    return good;
}

int run_read(char **arguments) {
    ReadOptions options;
    Home home;
    Buffer name = {0};
    Buffer path = {0};
    Buffer body = {0};
    /* On a terminal, content is disarmed and followed by a word on where it goes on. */
    if (isatty(1) || isatty(2) || !read_options(&options, arguments) || !is_fetch_id(options.id) || !home_find(&home) ||
        !find_body(&home, &options, &name, &path) || read_file(path.data, MAX_BODY, &body) != 0) {
        hand_over();
    }
    Page page = page_of(buffer_view(&body), options.offset, options.limit);
    if (!text_is_utf8(page.text, false) || options.offset > (page.total ? page.total : 1)) {
        hand_over();
    }
    if (options.json) {
        print_json(&options, &page, name.data, path.data);
    } else {
        print_text(&page);
    }
    buffer_free(&body);
    buffer_free(&path);
    buffer_free(&name);
    return EXIT_OK;
}
