#include "options.h"

#include "json.h"

#include <string.h>

static const char *const FORMATS[] = {"markdown", "text", "html", "source", NULL};
static const char *const REDIRECTS[] = {"follow", "same-host", NULL};
static const char *const ENGINES[] = {"browser", "http", "auto", NULL};

/* An option with its place in the structure; those with a value have the field's name on the wire too. */
typedef struct {
    const char *name;
    const char *field;
    size_t place;
    const char *const *choices;
} Option;

static const Option FLAGS[] = {
    {"--json", NULL, offsetof(FetchOptions, json), NULL},
    {"--print", NULL, offsetof(FetchOptions, content), NULL},
    {"--screenshot", "screenshot", offsetof(FetchOptions, screenshot), NULL},
    {"--insecure", "insecure", offsetof(FetchOptions, insecure), NULL},
    {"--keep-page", "keepPage", offsetof(FetchOptions, keep_page), NULL},
};
static const Option VALUES[] = {
    {"-o", NULL, offsetof(FetchOptions, output_dir), NULL},
    {"--format", "format", offsetof(FetchOptions, format), FORMATS},
    {"--extractor", "extractor", offsetof(FetchOptions, extractor), NULL},
    {"--wait-for", "waitFor", offsetof(FetchOptions, wait_for), NULL},
    {"--redirects", "redirects", offsetof(FetchOptions, redirects), REDIRECTS},
    {"--deadline", NULL, offsetof(FetchOptions, deadline), NULL},
    {"--accept-language", "acceptLanguage", offsetof(FetchOptions, accept_language), NULL},
    {"--engine", "engine", offsetof(FetchOptions, engine), ENGINES},
};
enum { FLAG_COUNT = sizeof FLAGS / sizeof *FLAGS, VALUE_COUNT = sizeof VALUES / sizeof *VALUES };

static bool *flag_at(FetchOptions *options, size_t place) {
    return (bool *)(void *)((char *)options + place);
}

static const char **value_at(FetchOptions *options, size_t place) {
    return (const char **)(void *)((char *)options + place);
}

unsigned small_number(const char *text) {
    unsigned number = 0;
    size_t size = 0;
    for (; text[size] >= '0' && text[size] <= '9' && size < 6; size++) {
        number = number * 10 + (unsigned)(text[size] - '0');
    }
    return text[size] || *text == '0' ? 0 : number;
}

/* Whether a text is a number of seconds in its plainest form, which JSON and Python read alike. */
static bool is_seconds(const char *text) {
    size_t whole = strspn(text, "0123456789");
    if (!whole || whole > 6 || (whole > 1 && *text == '0')) {
        return false;
    }
    bool positive = strpbrk(text, "123456789") != NULL;
    if (text[whole] == '.') {
        size_t rest = strspn(text + whole + 1, "0123456789");
        return positive && rest && rest <= 6 && !text[whole + 1 + rest];
    }
    return positive && !text[whole];
}

static bool is_one_of(const char *text, const char *const *choices) {
    while (*choices && strcmp(text, *choices) != 0) {
        choices++;
    }
    return *choices != NULL;
}

static bool read_flag(FetchOptions *options, const char *argument) {
    for (size_t at = 0; at < FLAG_COUNT; at++) {
        if (strcmp(argument, FLAGS[at].name) == 0) {
            *flag_at(options, FLAGS[at].place) = true;
            return true;
        }
    }
    return false;
}

static bool read_value(FetchOptions *options, const char *name, const char *value) {
    if (!value || *value == '-') {
        return false;
    }
    if (strcmp(name, "--allow") == 0 && options->allow_count < MAX_URLS) {
        options->allow[options->allow_count++] = value;
        return true;
    }
    for (size_t at = 0; at < VALUE_COUNT; at++) {
        if (strcmp(name, VALUES[at].name) == 0) {
            *value_at(options, VALUES[at].place) = value;
            return !VALUES[at].choices || is_one_of(value, VALUES[at].choices);
        }
    }
    return false;
}

bool options_read(FetchOptions *options, char **arguments) {
    *options = (FetchOptions){0};
    for (; *arguments; arguments++) {
        if (**arguments != '-') {
            if (options->url_count == MAX_URLS) {
                return false;
            }
            options->urls[options->url_count++] = *arguments;
        } else if (!read_flag(options, *arguments)) {
            if (!read_value(options, *arguments, arguments[1])) {
                return false;
            }
            arguments++;
        }
    }
    return options->url_count && (!options->deadline || is_seconds(options->deadline));
}

static void add_text(Buffer *out, const char *field, const char *text) {
    buffer_format(out, ",\"%s\":", field);
    json_quote(out, slice_of(text), true);
}

void options_request(Buffer *out, const FetchOptions *options, size_t index, const char *directory) {
    FetchOptions copy = *options;
    /* Shared with other processes that fetch the same at the moment, as by the Python command. */
    buffer_format(out, "{\"id\":%zu,\"op\":\"fetch\",\"share\":true", index + 1);
    add_text(out, "downloadDir", directory);
    for (size_t at = 0; at < VALUE_COUNT; at++) {
        const char *value = *value_at(&copy, VALUES[at].place);
        if (value && VALUES[at].field) {
            add_text(out, VALUES[at].field, value);
        }
    }
    for (size_t at = 0; at < FLAG_COUNT; at++) {
        if (FLAGS[at].field && *flag_at(&copy, FLAGS[at].place)) {
            buffer_format(out, ",\"%s\":true", FLAGS[at].field);
        }
    }
    if (options->deadline) {
        buffer_format(out, ",\"deadline\":%s", options->deadline);
    }
    for (size_t at = 0; at < options->allow_count; at++) {
        buffer_text(out, at ? "," : ",\"allow\":[");
        json_quote(out, slice_of(options->allow[at]), true);
    }
    buffer_text(out, options->allow_count ? "]" : "");
    add_text(out, "url", options->urls[index]);
    buffer_text(out, "}\n");
}
