#include "json.h"

#include "text.h"

#include <string.h>

typedef struct {
    Arena *arena;
    const char *at;
    const char *end;
    unsigned depth;
} Parser;

static Json *parse_value(Parser *parser);

static void skip_blanks(Parser *parser) {
    while (parser->at < parser->end && strchr(" \t\n\r", *parser->at) && *parser->at) {
        parser->at++;
    }
}

static bool accept(Parser *parser, char character) {
    if (parser->at < parser->end && *parser->at == character) {
        parser->at++;
        return true;
    }
    return false;
}

static bool accept_word(Parser *parser, const char *word) {
    size_t size = strlen(word);
    if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, word, size) != 0) {
        return false;
    }
    parser->at += size;
    return true;
}

static Json *make(Parser *parser, JsonKind kind) {
    Json *made = arena_take(parser->arena, sizeof *made);
    *made = (Json){.kind = kind};
    return made;
}

static bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

static bool skip_digits(Parser *parser) {
    const char *start = parser->at;
    while (parser->at < parser->end && is_digit(*parser->at)) {
        parser->at++;
    }
    return parser->at > start;
}

static Json *parse_number(Parser *parser) {
    const char *start = parser->at;
    if (accept_word(parser, "NaN") || accept_word(parser, "Infinity") || accept_word(parser, "-Infinity")) {
        Json *made = make(parser, JSON_NUMBER);
        made->text = (Slice){start, (size_t)(parser->at - start)};
        return made;
    }
    accept(parser, '-');
    if (!accept(parser, '0') && !skip_digits(parser)) {
        return NULL;
    }
    /* What follows counts only when it is whole, as for Python: "1.x" is the number 1, and then nonsense. */
    const char *whole = parser->at;
    if (accept(parser, '.') && !skip_digits(parser)) {
        parser->at = whole;
    }
    whole = parser->at;
    if (accept(parser, 'e') || accept(parser, 'E')) {
        if (!accept(parser, '+')) {
            accept(parser, '-');
        }
        if (!skip_digits(parser)) {
            parser->at = whole;
        }
    }
    Json *made = make(parser, JSON_NUMBER);
    made->text = (Slice){start, (size_t)(parser->at - start)};
    if (slice_is(made->text, "-0")) {
        made->text = slice_of("0");
    }
    return made;
}

static bool parse_hex(Parser *parser, uint32_t *unit) {
    if (parser->end - parser->at < 4) {
        return false;
    }
    *unit = 0;
    for (int digit = 0; digit < 4; digit++) {
        char character = *parser->at++;
        unsigned value;
        if (is_digit(character)) {
            value = (unsigned)(character - '0');
        } else if (character >= 'a' && character <= 'f') {
            value = (unsigned)(character - 'a') + 10;
        } else if (character >= 'A' && character <= 'F') {
            value = (unsigned)(character - 'A') + 10;
        } else {
            return false;
        }
        *unit = *unit << 4 | value;
    }
    return true;
}

/* The rest of an escape after its backslash, into memory that is never longer than what the escape took. */
static bool parse_escape(Parser *parser, Buffer *out) {
    static const char marks[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    if (parser->at == parser->end) {
        return false;
    }
    char mark = *parser->at++;
    if (mark != 'u') {
        const char *found = mark ? strchr(marks, mark) : NULL;
        if (found) {
            buffer_char(out, meant[found - marks]);
        }
        return found != NULL;
    }
    uint32_t point;
    if (!parse_hex(parser, &point)) {
        return false;
    }
    if (point >= 0xD800 && point <= 0xDBFF) {
        const char *alone = parser->at;
        uint32_t low;
        if (accept_word(parser, "\\u") && parse_hex(parser, &low) && low >= 0xDC00 && low <= 0xDFFF) {
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        } else {
            parser->at = alone;
        }
    }
    text_put(out, point);
    return true;
}

/* The characters of a string whose opening quote has been read. */
static bool parse_string(Parser *parser, Slice *text) {
    const char *start = parser->at;
    while (parser->at < parser->end && *parser->at != '"' && *parser->at != '\\' && (unsigned char)*parser->at >= 0x20) {
        parser->at++;
    }
    if (accept(parser, '"')) {
        *text = (Slice){start, (size_t)(parser->at - 1 - start)};
        return true;
    }
    Buffer out = {0};
    buffer_add(&out, start, (size_t)(parser->at - start));
    bool closed = false;
    while (parser->at < parser->end && (unsigned char)*parser->at >= 0x20) {
        char character = *parser->at++;
        if (character == '"') {
            closed = true;
            break;
        }
        if (character != '\\') {
            buffer_char(&out, character);
        } else if (!parse_escape(parser, &out)) {
            break;
        }
    }
    if (closed) {
        char *kept = arena_take(parser->arena, out.size);
        if (out.size) {
            memcpy(kept, out.data, out.size);
        }
        *text = (Slice){kept, out.size};
    }
    buffer_free(&out);
    return closed;
}

static void append(Json *holder, Json *item) {
    if (holder->last) {
        holder->last->next = item;
    } else {
        holder->first = item;
    }
    holder->last = item;
}

static Json *parse_array(Parser *parser) {
    Json *array = make(parser, JSON_ARRAY);
    skip_blanks(parser);
    if (accept(parser, ']')) {
        return array;
    }
    do {
        Json *item = parse_value(parser);
        if (!item) {
            return NULL;
        }
        append(array, item);
    } while (accept(parser, ','));
    return accept(parser, ']') ? array : NULL;
}

static Json *parse_object(Parser *parser) {
    Json *object = make(parser, JSON_OBJECT);
    skip_blanks(parser);
    if (accept(parser, '}')) {
        return object;
    }
    unsigned members = 0;
    do {
        Slice name;
        skip_blanks(parser);
        if (++members > JSON_MEMBERS || !accept(parser, '"') || !parse_string(parser, &name)) {
            return NULL;
        }
        skip_blanks(parser);
        Json *value = accept(parser, ':') ? parse_value(parser) : NULL;
        if (!value) {
            return NULL;
        }
        value->name = name;
        json_put(object, value);
    } while (accept(parser, ','));
    return accept(parser, '}') ? object : NULL;
}

static Json *parse_string_value(Parser *parser) {
    Json *made = make(parser, JSON_STRING);
    return parse_string(parser, &made->text) ? made : NULL;
}

static Json *parse_bare(Parser *parser) {
    if (accept_word(parser, "null")) {
        return make(parser, JSON_NULL);
    }
    if (accept_word(parser, "true")) {
        return make(parser, JSON_TRUE);
    }
    return accept_word(parser, "false") ? make(parser, JSON_FALSE) : parse_number(parser);
}

/* A value with the blanks around it. */
static Json *parse_value(Parser *parser) {
    if (parser->depth == JSON_DEPTH) {
        return NULL;
    }
    parser->depth++;
    skip_blanks(parser);
    Json *value;
    if (accept(parser, '{')) {
        value = parse_object(parser);
    } else if (accept(parser, '[')) {
        value = parse_array(parser);
    } else if (accept(parser, '"')) {
        value = parse_string_value(parser);
    } else {
        value = parse_bare(parser);
    }
    skip_blanks(parser);
    parser->depth--;
    return value;
}

Json *json_parse(Arena *arena, Slice text) {
    if (!text.size || !text_is_utf8(text, true)) {
        return NULL;
    }
    Parser parser = {.arena = arena, .at = text.data, .end = text.data + text.size, .depth = 0};
    Json *value = parse_value(&parser);
    return parser.at == parser.end ? value : NULL;
}

static void quote_point(Buffer *out, uint32_t point) {
    static const char marks[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = point && point < 0x80 ? strchr(marks, (int)point) : NULL;
    if (found) {
        buffer_char(out, '\\');
        buffer_char(out, letters[found - marks]);
    } else {
        buffer_format(out, "\\u%04x", (unsigned)point);
    }
}

void json_quote(Buffer *out, Slice text, bool exact) {
    buffer_char(out, '"');
    size_t copied = 0;
    for (size_t at = 0; at < text.size;) {
        size_t start = at;
        uint32_t point = text_next(text, &at);
        bool escaped = point < 0x20 || point == '"' || point == '\\';
        bool hidden = (point >= 0x7F && point <= 0x9F) || (point >= 0xD800 && point <= 0xDFFF);
        if (escaped || (hidden && !exact)) {
            buffer_add(out, text.data + copied, start - copied);
            quote_point(out, point);
            copied = at;
        }
    }
    buffer_add(out, text.data + copied, text.size - copied);
    buffer_char(out, '"');
}

static void print_items(Buffer *out, const Json *holder) {
    for (const Json *item = holder->first; item; item = item->next) {
        if (item != holder->first) {
            buffer_text(out, ", ");
        }
        if (holder->kind == JSON_OBJECT) {
            json_quote(out, item->name, false);
            buffer_text(out, ": ");
        }
        json_print(out, item);
    }
}

void json_print(Buffer *out, const Json *value) {
    switch (value->kind) {
    case JSON_NULL:
        buffer_text(out, "null");
        break;
    case JSON_FALSE:
        buffer_text(out, "false");
        break;
    case JSON_TRUE:
        buffer_text(out, "true");
        break;
    case JSON_NUMBER:
        buffer_slice(out, value->text);
        break;
    case JSON_STRING:
        json_quote(out, value->text, false);
        break;
    case JSON_ARRAY:
        buffer_char(out, '[');
        print_items(out, value);
        buffer_char(out, ']');
        break;
    case JSON_OBJECT:
        buffer_char(out, '{');
        print_items(out, value);
        buffer_char(out, '}');
        break;
    }
}

Json *json_get(const Json *object, const char *name) {
    if (!object || object->kind != JSON_OBJECT) {
        return NULL;
    }
    for (Json *member = object->first; member; member = member->next) {
        if (slice_is(member->name, name)) {
            return member;
        }
    }
    return NULL;
}

void json_put(Json *object, Json *member) {
    Json *before = NULL;
    for (Json *known = object->first; known; before = known, known = known->next) {
        if (known->name.size != member->name.size ||
            (member->name.size && memcmp(known->name.data, member->name.data, member->name.size) != 0)) {
            continue;
        }
        member->next = known->next;
        *(before ? &before->next : &object->first) = member;
        if (object->last == known) {
            object->last = member;
        }
        return;
    }
    member->next = NULL;
    append(object, member);
}

bool json_is(const Json *value, JsonKind kind) {
    return value && value->kind == kind;
}

bool json_truthy(const Json *value) {
    if (!value) {
        return false;
    }
    switch (value->kind) {
    case JSON_NULL:
    case JSON_FALSE:
        return false;
    case JSON_TRUE:
        return true;
    case JSON_NUMBER:
        for (size_t at = 0; at < value->text.size && value->text.data[at] != 'e' && value->text.data[at] != 'E'; at++) {
            if (value->text.data[at] != '-' && value->text.data[at] != '.' && value->text.data[at] != '0') {
                return true;
            }
        }
        return false;
    case JSON_STRING:
        return value->text.size > 0;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return value->first != NULL;
    }
    return false;
}

bool json_count(const Json *value, uint64_t *count) {
    if (!json_is(value, JSON_NUMBER) || value->text.size > 15) {
        return false;
    }
    *count = 0;
    for (size_t at = 0; at < value->text.size; at++) {
        if (!is_digit(value->text.data[at])) {
            return false;
        }
        *count = *count * 10 + (uint64_t)(value->text.data[at] - '0');
    }
    return true;
}
