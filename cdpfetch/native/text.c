#include "text.h"

#include <stdlib.h>

bool text_is_utf8(Slice text, bool surrogates) {
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t at = 0;
    while (at < text.size) {
        unsigned char head = bytes[at++];
        if (head < 0x80) {
            continue;
        }
        unsigned more;
        unsigned low = 0x80;
        unsigned high = 0xBF;
        if (head >= 0xC2 && head <= 0xDF) {
            more = 1;
        } else if (head >= 0xE0 && head <= 0xEF) {
            more = 2;
            low = head == 0xE0 ? 0xA0 : low;
            high = head == 0xED && !surrogates ? 0x9F : high;
        } else if (head >= 0xF0 && head <= 0xF4) {
            more = 3;
            low = head == 0xF0 ? 0x90 : low;
            high = head == 0xF4 ? 0x8F : high;
        } else {
            return false;
        }
        for (; more; more--, low = 0x80, high = 0xBF) {
            if (at == text.size || bytes[at] < low || bytes[at] > high) {
                return false;
            }
            at++;
        }
    }
    return true;
}

uint32_t text_next(Slice text, size_t *position) {
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t at = *position;
    uint32_t point = bytes[at++];
    unsigned more = point < 0x80 ? 0 : point < 0xE0 ? 1 : point < 0xF0 ? 2 : 3;
    if (more) {
        point &= 0x3FU >> more;
    }
    for (; more && at < text.size; more--) {
        point = point << 6 | (bytes[at++] & 0x3FU);
    }
    *position = at;
    return point;
}

void text_put(Buffer *out, uint32_t point) {
    if (point < 0x80) {
        buffer_char(out, (char)point);
    } else if (point < 0x800) {
        buffer_char(out, (char)(0xC0 | point >> 6));
        buffer_char(out, (char)(0x80 | (point & 0x3F)));
    } else if (point < 0x10000) {
        buffer_char(out, (char)(0xE0 | point >> 12));
        buffer_char(out, (char)(0x80 | (point >> 6 & 0x3F)));
        buffer_char(out, (char)(0x80 | (point & 0x3F)));
    } else {
        buffer_char(out, (char)(0xF0 | point >> 18));
        buffer_char(out, (char)(0x80 | (point >> 12 & 0x3F)));
        buffer_char(out, (char)(0x80 | (point >> 6 & 0x3F)));
        buffer_char(out, (char)(0x80 | (point & 0x3F)));
    }
}

static void put_or_escape(Buffer *out, uint32_t point) {
    if (point >= 0xD800 && point <= 0xDFFF) {
        buffer_format(out, "\\u%04x", (unsigned)point);
    } else {
        text_put(out, point);
    }
}

void text_write(Buffer *out, Slice text) {
    size_t copied = 0;
    for (size_t at = 0; at < text.size;) {
        size_t start = at;
        uint32_t point = text_next(text, &at);
        if (point >= 0xD800 && point <= 0xDFFF) {
            buffer_add(out, text.data + copied, start - copied);
            buffer_format(out, "\\u%04x", (unsigned)point);
            copied = at;
        }
    }
    buffer_add(out, text.data + copied, text.size - copied);
}

/* What Python's str.split takes for blank. */
static bool is_blank(uint32_t point) {
    return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20) || point == 0x85 || point == 0xA0 ||
           point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

static bool is_unsafe(uint32_t point) {
    return point < 0x09 || (point >= 0x0B && point <= 0x1F) || (point >= 0x7F && point <= 0x9F) || point == 0x61C ||
           point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

static bool is_within(uint32_t point, uint32_t low, uint32_t high) {
    return point >= low && point <= high;
}

/* The end of a control string (OSC, DCS, SOS, PM, APC) whose introducer ends at `at`. */
static size_t skip_string(const uint32_t *points, size_t at, size_t count) {
    while (at < count && points[at] != 0x07 && points[at] != 0x1B && points[at] != 0x9C && points[at] != '\n') {
        at++;
    }
    if (at < count && (points[at] == 0x07 || points[at] == 0x9C)) {
        return at + 1;
    }
    return at + 1 < count && points[at] == 0x1B && points[at + 1] == '\\' ? at + 2 : at;
}

static size_t skip_range(const uint32_t *points, size_t at, size_t count, uint32_t low, uint32_t high) {
    while (at < count && is_within(points[at], low, high)) {
        at++;
    }
    return at;
}

/* The end of a control sequence (CSI) whose introducer ends at `at`. */
static size_t skip_sequence(const uint32_t *points, size_t at, size_t count) {
    at = skip_range(points, at, count, '0', '?');
    at = skip_range(points, at, count, ' ', '/');
    return at < count && is_within(points[at], '@', '~') ? at + 1 : at;
}

/* The end of what could steer a terminal and begins at `at`; `at` itself where nothing does. */
static size_t skip_unsafe(const uint32_t *points, size_t at, size_t count) {
    uint32_t point = points[at];
    uint32_t after = at + 1 < count ? points[at + 1] : 0;
    if (point == 0x1B && (after == ']' || after == 'P' || after == 'X' || after == '^' || after == '_')) {
        return skip_string(points, at + 2, count);
    }
    if (point == 0x9D || point == 0x90 || point == 0x98 || point == 0x9E || point == 0x9F) {
        return skip_string(points, at + 1, count);
    }
    if (point == 0x9B || (point == 0x1B && after == '[')) {
        return skip_sequence(points, at + (point == 0x9B ? 1 : 2), count);
    }
    if (point == 0x1B) {
        at = skip_range(points, at + 1, count, ' ', '/');
        return at < count && is_within(points[at], '0', '~') ? at + 1 : at;
    }
    return is_unsafe(point) ? at + 1 : at;
}

void text_one_line(Buffer *out, Slice text, size_t limit) {
    size_t room = text.size < limit * 8 ? text.size : limit * 8;
    uint32_t *points = allocate((room + 1) * sizeof *points);
    size_t count = 0;
    for (size_t at = 0; at < text.size && count < room;) {
        points[count++] = text_next(text, &at);
    }
    /* In place: unsafe runs go, then each run of blanks becomes one, and none stays at an end. */
    size_t safe = 0;
    for (size_t at = 0; at < count;) {
        size_t end = skip_unsafe(points, at, count);
        if (end == at) {
            points[safe++] = points[at++];
        } else {
            at = end;
        }
    }
    size_t kept = 0;
    for (size_t at = 0; at < safe; at++) {
        if (!is_blank(points[at])) {
            points[kept++] = points[at];
        } else if (kept && points[kept - 1] != ' ') {
            points[kept++] = ' ';
        }
    }
    if (kept && points[kept - 1] == ' ') {
        kept--;
    }
    size_t shown = kept;
    if (kept > limit) {
        shown = limit - 1;
        while (shown && points[shown - 1] == ' ') {
            shown--;
        }
    }
    for (size_t at = 0; at < shown; at++) {
        put_or_escape(out, points[at]);
    }
    if (kept > limit) {
        text_put(out, 0x2026);
    }
    free(points);
}

void text_human_bytes(Buffer *out, uint64_t count) {
    if (count < 1000) {
        buffer_format(out, "%u B", (unsigned)count);
        return;
    }
    static const char *const units[] = {"KB", "MB", "GB"};
    double size = (double)count / 1000;
    size_t unit = 0;
    while (size >= 999.95 && unit < 2) {
        size /= 1000;
        unit++;
    }
    buffer_format(out, "%.1f %s", size, units[unit]);
}
