#include "document.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

static const char *const CODES[] = {
    "invalid_url",      "unsupported_scheme", "blocked_address",   "dns_failed",     "connection_failed",
    "tls_failed",       "timeout",            "too_many_redirects", "http_error",     "auth_required",
    "login_required",   "challenge",          "too_large",         "no_content",     "empty_response",
    "download_failed",  "disk_full",          "interactive_open",  "browser_not_found", "browser_failed",
    "profile_in_use",   "tab_crashed",        "daemon_unavailable", "cancelled",      "invalid_request",
    "config_error",     "internal",
};

Slice json_text(const Json *value) {
    return json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER) ? value->text : (Slice){"", 0};
}

const char *known_code(const Json *code) {
    for (size_t at = 0; at < sizeof CODES / sizeof *CODES; at++) {
        if (json_is(code, JSON_STRING) && slice_is(code->text, CODES[at])) {
            return CODES[at];
        }
    }
    return "internal";
}

/* Makes a value of JSON text that is written here, and so is whole. */
static Json *made_of(Arena *arena, Buffer *text) {
    char *kept = arena_take(arena, text->size);
    memcpy(kept, text->data, text->size);
    Json *made = json_parse(arena, (Slice){kept, text->size});
    buffer_free(text);
    if (!made) {
        abort();
    }
    return made;
}

Json *document_new(Arena *arena, Slice url) {
    Buffer text = {0};
    buffer_text(&text, "{\"url\":");
    json_quote(&text, url, true);
    buffer_text(&text, ",\"ok\":false,\"kind\":\"local.page\",\"source\":\"local\",\"link\":");
    json_quote(&text, url, true);
    buffer_text(&text, ",\"title\":null,\"facts\":[],\"excerpt\":null,\"outline\":[],\"status\":null,"
                       "\"content_type\":null,\"bytes\":0,\"sha256\":null,\"verdict\":\"ok\",\"coverage\":null,"
                       "\"warnings\":[],\"fetch_id\":null,\"dir\":null,\"bodies\":[],\"attempts\":[],"
                       "\"error\":null,\"timings\":{}}");
    return made_of(arena, &text);
}

static void set(Json *object, const char *name, Json *value) {
    value->name = slice_of(name);
    json_put(object, value);
}

static void quote_or_null(Buffer *text, const Json *value) {
    if (json_is(value, JSON_STRING)) {
        json_quote(text, value->text, true);
    } else {
        buffer_text(text, "null");
    }
}

static Json *error_of(Arena *arena, const Failure *failure) {
    Buffer text = {0};
    buffer_format(&text, "{\"code\":\"%s\",\"reason\":", failure->code);
    json_quote(&text, failure->reason, true);
    buffer_text(&text, ",\"hint\":");
    quote_or_null(&text, failure->hint);
    buffer_char(&text, '}');
    return made_of(arena, &text);
}

static Json *attempts_of(Arena *arena, const Json *document, const Failure *failure) {
    Buffer text = {0};
    buffer_text(&text, "[{\"source\":");
    quote_or_null(&text, json_get(document, "source"));
    buffer_format(&text, ",\"code\":\"%s\",\"reason\":", failure->code);
    json_quote(&text, failure->reason, true);
    buffer_text(&text, "}]");
    return made_of(arena, &text);
}

Json *document_failed(Arena *arena, Slice url, const Failure *failure, const Json *sent) {
    Json *document = document_new(arena, url);
    for (const Json *member = json_is(sent, JSON_OBJECT) ? sent->first : NULL; member; member = member->next) {
        Json *copy = arena_take(arena, sizeof *copy);
        *copy = *member;
        json_put(document, copy);
    }
    Json *ok = arena_take(arena, sizeof *ok);
    *ok = (Json){.kind = JSON_FALSE};
    set(document, "ok", ok);
    if (!json_truthy(json_get(document, "error"))) {
        set(document, "error", error_of(arena, failure));
    }
    if (!json_truthy(json_get(document, "attempts"))) {
        set(document, "attempts", attempts_of(arena, document, failure));
    }
    return document;
}

static const Json *first_truthy(const Json *one, const Json *other) {
    return json_truthy(one) ? one : other;
}

static void add_bodies(Buffer *out, const Json *document) {
    const Json *bodies = json_get(document, "bodies");
    if (!json_truthy(bodies)) {
        return;
    }
    Slice directory = json_text(json_get(document, "dir"));
    while (directory.size && directory.data[directory.size - 1] == '/') {
        directory.size--;
    }
    buffer_text(out, "   bodies (in ");
    text_write(out, directory);
    buffer_text(out, "/):\n");
    for (const Json *body = bodies->first; body; body = body->next) {
        buffer_text(out, "   - ");
        text_write(out, json_text(json_get(body, "name")));
        buffer_text(out, " (");
        Slice lines = json_text(json_get(body, "lines"));
        if (lines.size) {
            buffer_slice(out, lines);
            buffer_text(out, slice_is(lines, "1") ? " line, " : " lines, ");
        }
        uint64_t bytes = 0;
        if (json_count(json_get(body, "bytes"), &bytes)) {
            text_human_bytes(out, bytes);
        }
        buffer_text(out, ")\n");
    }
}

static void add_facts(Buffer *out, const Json *document) {
    const char *before = "   ";
    const Json *facts = json_get(document, "facts");
    for (const Json *fact = json_is(facts, JSON_ARRAY) ? facts->first : NULL; fact; fact = fact->next) {
        if (json_truthy(fact)) {
            buffer_text(out, before);
            text_one_line(out, json_text(fact), LINE_LIMIT);
            before = " \xC2\xB7 ";
        }
    }
    const Json *verdict = json_get(document, "verdict");
    if (json_truthy(verdict) && !slice_is(json_text(verdict), "ok")) {
        buffer_text(out, before);
        buffer_text(out, "verdict: ");
        text_write(out, json_text(verdict));
        before = "";
    }
    if (strcmp(before, "   ") != 0) {
        buffer_char(out, '\n');
    }
}

void document_entry(Buffer *out, unsigned number, const Json *document) {
    const Json *link = first_truthy(json_get(document, "link"), json_get(document, "url"));
    buffer_format(out, "%u. ", number);
    text_one_line(out, json_text(first_truthy(json_get(document, "title"), link)), LINE_LIMIT);
    buffer_char(out, '\n');
    add_facts(out, document);
    buffer_text(out, "   ");
    text_one_line(out, json_text(link), URL_LIMIT);
    buffer_char(out, '\n');
    const Json *warnings = json_get(document, "warnings");
    for (const Json *one = json_is(warnings, JSON_ARRAY) ? warnings->first : NULL; one; one = one->next) {
        buffer_text(out, "   warning: ");
        text_one_line(out, json_text(json_get(one, "message")), LINE_LIMIT);
        buffer_char(out, '\n');
    }
    add_bodies(out, document);
    const Json *excerpt = json_get(document, "excerpt");
    if (json_truthy(excerpt)) {
        buffer_text(out, "   excerpt: ");
        text_one_line(out, json_text(excerpt), EXCERPT_LIMIT);
        buffer_char(out, '\n');
    }
}

static bool ends_with(const Buffer *text, const Buffer *end) {
    return text->size >= end->size &&
           (!end->size || memcmp(text->data + text->size - end->size, end->data, end->size) == 0);
}

static void add_trail(Buffer *out, const Json *document, const Json *error) {
    Buffer last = {0};
    const Json *reason = json_get(error, "reason");
    text_one_line(&last, json_truthy(reason) ? json_text(reason) : slice_of("no reason was given"), LINE_LIMIT);
    Buffer trail = {0};
    const Json *attempts = json_get(document, "attempts");
    for (const Json *one = json_is(attempts, JSON_ARRAY) ? attempts->first : NULL; one; one = one->next) {
        buffer_text(&trail, trail.size ? " \xE2\x86\x92 " : "");
        text_write(&trail, json_text(json_get(one, "source")));
        buffer_text(&trail, ": ");
        text_one_line(&trail, json_text(json_get(one, "reason")), LINE_LIMIT);
    }
    if (!trail.size || !ends_with(&trail, &last)) {
        const Json *source = json_get(document, "source");
        buffer_text(&trail, trail.size ? " \xE2\x86\x92 " : "");
        text_write(&trail, json_truthy(source) ? json_text(source) : slice_of("local"));
        buffer_text(&trail, ": ");
        buffer_slice(&trail, buffer_view(&last));
    }
    buffer_slice(out, buffer_view(&trail));
    buffer_free(&trail);
    buffer_free(&last);
}

void document_failure(Buffer *out, const Json *document) {
    const Json *error = json_get(document, "error");
    buffer_text(out, "- ");
    text_one_line(out, json_text(json_get(document, "url")), URL_LIMIT);
    buffer_text(out, ": ");
    add_trail(out, document, error);
    buffer_char(out, '\n');
    const Json *hint = json_get(error, "hint");
    if (json_truthy(hint)) {
        buffer_text(out, "   hint: ");
        text_one_line(out, json_text(hint), LINE_LIMIT);
        buffer_char(out, '\n');
    }
    add_bodies(out, document);
}

static const char *const FORMATS[] = {"markdown", "text", "source", "html"};
/* The roles that serve each format, best first; "textual" is an original that is readable as it is. */
static const char *const ROLES[][4] = {
    {"content", "text", "textual", "source"},
    {"text", "textual", "source", "content"},
    {"source", "textual", "page", NULL},
    {"page", "html", NULL, NULL},
};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS, ROLE_COUNT = sizeof *ROLES / sizeof **ROLES };

static bool has_word(Slice words, const char *word) {
    size_t size = strlen(word);
    for (size_t at = 0; at < words.size;) {
        size_t end = at;
        while (end < words.size && words.data[end] != '-' && words.data[end] != '+') {
            end++;
        }
        if (end - at == size && memcmp(words.data + at, word, size) == 0) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

/* artifacts.is_textual: whether bytes of a type are text that a person can read line by line. */
static bool is_textual(Slice type) {
    static const char *const words[] = {"json", "xml", "javascript", "ecmascript", "yaml", "ndjson"};
    char lower[128];
    size_t size = 0;
    for (size_t at = 0; at < type.size && type.data[at] != ';' && size < sizeof lower; at++) {
        char character = type.data[at];
        if (character >= 'A' && character <= 'Z') {
            character = (char)(character - 'A' + 'a');
        }
        if (size || !strchr(" \t", character)) {
            lower[size++] = character;
        }
    }
    while (size && strchr(" \t", lower[size - 1])) {
        size--;
    }
    const char *slash = memchr(lower, '/', size);
    size_t kind = slash ? (size_t)(slash - lower) : size;
    if (kind == 4 && memcmp(lower, "text", 4) == 0) {
        return true;
    }
    if (!slash || kind != 11 || memcmp(lower, "application", 11) != 0) {
        return false;
    }
    for (size_t at = 0; at < sizeof words / sizeof *words; at++) {
        if (has_word((Slice){slash + 1, size - kind - 1}, words[at])) {
            return true;
        }
    }
    return false;
}

static bool serves(const Json *body, const char *wanted) {
    Slice role = json_text(json_get(body, "role"));
    Slice type = json_text(json_get(body, "content_type"));
    if (slice_is(role, wanted)) {
        return true;
    }
    if (!slice_is(role, "original")) {
        return false;
    }
    if (strcmp(wanted, "textual") == 0) {
        return is_textual(type);
    }
    return strcmp(wanted, "html") == 0 && (slice_is(type, "text/html") || slice_is(type, "application/xhtml+xml"));
}

const Json *document_body(const Json *document, const char *format) {
    const Json *bodies = json_get(document, "bodies");
    size_t which = 0;
    while (which < FORMAT_COUNT && strcmp(FORMATS[which], format) != 0) {
        which++;
    }
    for (size_t role = 0; which < FORMAT_COUNT && role < ROLE_COUNT && ROLES[which][role]; role++) {
        for (const Json *body = json_is(bodies, JSON_ARRAY) ? bodies->first : NULL; body; body = body->next) {
            if (serves(body, ROLES[which][role])) {
                return body;
            }
        }
    }
    return NULL;
}

void document_lacks(Buffer *reason, Buffer *hint, const Json *document, const char *format) {
    const Json *id = json_get(document, "fetch_id");
    buffer_slice(reason, json_truthy(id) ? json_text(id) : slice_of("the document"));
    buffer_format(reason, " has no %s", format);
    size_t usable = 0;
    for (size_t which = 0; which < FORMAT_COUNT; which++) {
        if (document_body(document, FORMATS[which])) {
            buffer_text(hint, usable++ ? ", " : "formats of this document: ");
            buffer_text(hint, FORMATS[which]);
        }
    }
    buffer_text(hint, usable ? "; its files: " : "it holds nothing to read line by line; its files: ");
    const Json *bodies = json_get(document, "bodies");
    if (!json_truthy(bodies)) {
        buffer_text(hint, "none");
        return;
    }
    for (const Json *body = bodies->first; body; body = body->next) {
        const Json *type = json_get(body, "content_type");
        buffer_text(hint, body == bodies->first ? "" : ", ");
        buffer_slice(hint, json_text(json_get(body, "path")));
        buffer_text(hint, " (");
        buffer_slice(hint, json_is(type, JSON_STRING) ? type->text : slice_of("None"));
        buffer_char(hint, ')');
    }
}
