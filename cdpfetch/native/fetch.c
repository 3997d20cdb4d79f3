/* `cdpf fetch`: requests to the daemon, and documents printed in request order (cli/fetching.py, client.py). */
#include "connection.h"
#include "document.h"
#include "handover.h"
#include "options.h"
#include "output.h"
#include "process.h"
#include "text.h"
#include "url.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CONTENT = 1 << 30 };

/* A URL of the call: its document lives in its arena from the moment on in which it is there. */
typedef struct {
    const char *url;
    Arena arena;
    Json *document; /* NULL until then */
    bool heard;     /* whether the daemon has said anything of it */
} Slot;

typedef struct {
    const FetchOptions *options;
    const Home *home;
    Slot slots[MAX_URLS];
    size_t count;
    size_t printed; /* slots whose turn has been */
    unsigned number; /* entries of the digest that were printed */
    Buffer failed;  /* the lines that close the digest */
    /* Of the codes of what failed: see exit_status. */
    bool unavailable;
    bool some_failed;
    bool all_usage;
} Fetch;

static void note_code(Fetch *fetch, const char *code) {
    bool usage = code && (strcmp(code, "invalid_request") == 0 || strcmp(code, "config_error") == 0);
    fetch->all_usage = fetch->all_usage && usage;
    if (code) {
        fetch->some_failed = true;
        fetch->unavailable =
            fetch->unavailable || strcmp(code, "browser_not_found") == 0 || strcmp(code, "daemon_unavailable") == 0;
    }
}

static int exit_status(const Fetch *fetch) {
    if (!fetch->some_failed) {
        return EXIT_OK;
    }
    return fetch->unavailable ? EXIT_UNAVAILABLE : fetch->all_usage ? EXIT_USAGE : EXIT_SOME_FAILED;
}

/* Prints the content of a good document; false, with a complaint, when it has none that can be printed. */
static bool print_content(const Fetch *fetch, const Json *document) {
    const char *format = fetch->options->format ? fetch->options->format : "markdown";
    const Json *body = document_body(document, format);
    Buffer reason = {0};
    Buffer hint = {0};
    Buffer data = {0};
    if (!body) {
        document_lacks(&reason, &hint, document, format);
    } else {
        char *path = slice_copy(json_text(json_get(body, "path")));
        int problem = read_file(path, MAX_CONTENT, &data);
        if (problem) {
            buffer_format(&reason, "cannot read %s: %s", path, strerror(problem));
            buffer_text(&hint, "fetch it again");
        }
        free(path);
    }
    bool good = !reason.size;
    if (good) {
        if (!data.size || data.data[data.size - 1] != '\n') {
            buffer_char(&data, '\n');
        }
        write_out(&data);
    } else {
        complain(json_text(json_get(document, "url")), buffer_view(&reason), buffer_view(&hint));
    }
    buffer_free(&data);
    buffer_free(&hint);
    buffer_free(&reason);
    return good;
}

static void complain_of(const Json *document) {
    const Json *error = json_get(document, "error");
    const Json *reason = json_get(error, "reason");
    Slice said = json_truthy(reason) ? json_text(reason) : slice_of("no reason was given");
    complain(json_text(json_get(document, "url")), said, json_text(json_get(error, "hint")));
}

static void print_document(Fetch *fetch, const Json *document) {
    Buffer out = {0};
    bool ok = json_truthy(json_get(document, "ok"));
    const Json *error = json_get(document, "error");
    char *code = json_truthy(error) ? slice_copy(json_text(json_get(error, "code"))) : NULL;
    bool unprintable = false;
    if (fetch->options->json) {
        json_print(&out, document);
        buffer_char(&out, '\n');
    } else if (fetch->options->content) {
        if (!ok) {
            complain_of(document);
        } else {
            unprintable = !print_content(fetch, document);
        }
    } else if (ok) {
        document_entry(&out, ++fetch->number, document);
    } else {
        document_failure(&fetch->failed, document);
    }
    note_code(fetch, unprintable ? "no_content" : code);
    write_out(&out);
    buffer_free(&out);
    free(code);
}

/* Prints what is there and has its turn. */
static void print_ready(Fetch *fetch) {
    while (fetch->printed < fetch->count && fetch->slots[fetch->printed].document) {
        Slot *slot = &fetch->slots[fetch->printed++];
        print_document(fetch, slot->document);
        arena_free(&slot->arena);
    }
}

static void fail(Slot *slot, const Failure *failure, const Json *sent) {
    slot->document = document_failed(&slot->arena, slice_of(slot->url), failure, sent);
}

/* A terminal message: the document that it stands for. */
static void take_end(Slot *slot, Slice line, bool is_error) {
    char *kept = arena_take(&slot->arena, line.size);
    memcpy(kept, line.data, line.size);
    Json *message = json_parse(&slot->arena, (Slice){kept, line.size});
    Json *document = json_get(message, "document");
    if (is_error) {
        const Json *reason = json_get(message, "reason");
        Failure failure = {
            .code = known_code(json_get(message, "code")),
            .reason = reason ? json_text(reason) : slice_of("the daemon gave no reason"),
            .hint = json_get(message, "hint"),
        };
        fail(slot, &failure, document);
    } else if (json_is(document, JSON_OBJECT)) {
        slot->document = document;
    } else {
        Failure failure = {"internal", slice_of("the daemon's result holds no document"), NULL};
        fail(slot, &failure, NULL);
    }
}

static void take(Fetch *fetch, Connection *connection, const Json *message) {
    uint64_t id = 0;
    if (!json_count(json_get(message, "id"), &id) || id < 1 || id > fetch->count || fetch->slots[id - 1].document) {
        return;
    }
    Slot *slot = &fetch->slots[id - 1];
    Slice event = json_text(json_get(message, "event"));
    slot->heard = true;
    if (slice_is(event, "result") || slice_is(event, "error")) {
        take_end(slot, connection->line, slice_is(event, "error"));
    }
}

/* What became of a daemon that does not go on, in words; a silent one is ended, so that the next call gets another. */
static void explain(Reception reception, const Home *home, Buffer *reason, Buffer *hint) {
    static const char *const again = "run the command again: a new daemon is started; `cdpfetch logs` tells more";
    buffer_format(reason, "the daemon of %s ", home->root);
    buffer_text(hint, again);
    if (reception == SILENT) {
        buffer_format(reason, "was silent for %g s", (double)CDPF_SILENCE / 1000);
        if (process_end(home)) {
            buffer_text(reason, " and was ended");
        } else {
            hint->size = 0;
            buffer_format(hint, "%s names no process of cdpfetch: end the daemon by hand", home->pidfile);
        }
    } else if (reception == NONSENSE) {
        buffer_text(reason, "sent no message: a line is not a JSON object");
    } else {
        buffer_text(reason, "ended the connection");
    }
}

/* The daemon does not go on: what it has not ended has failed.  Where it had taken up nothing, all is asked for anew. */
static void lose(Fetch *fetch, Reception reception) {
    size_t pending = 0;
    bool heard = fetch->printed > 0;
    for (size_t at = 0; at < fetch->count; at++) {
        pending += !fetch->slots[at].document;
        heard = heard || fetch->slots[at].heard;
    }
    if (reception != SILENT && !heard) {
        hand_over();
    }
    Buffer reason = {0};
    Buffer hint = {0};
    explain(reception, fetch->home, &reason, &hint);
    buffer_format(&reason, " while %zu %s under way", pending, pending == 1 ? "request was" : "requests were");
    const Json shown = {.kind = JSON_STRING, .text = buffer_view(&hint)};
    Failure failure = {"daemon_unavailable", buffer_view(&reason), &shown};
    for (size_t at = 0; at < fetch->count; at++) {
        if (!fetch->slots[at].document) {
            fail(&fetch->slots[at], &failure, NULL);
        }
    }
    print_ready(fetch);
    buffer_free(&hint);
    buffer_free(&reason);
}

/* Whether the daemon alone can serve a call, and this program can print what comes. */
static bool is_ours(const FetchOptions *options, const Home *home) {
    /* On a terminal: progress, disarmed content, and addresses that somebody has typed. */
    if (isatty(0) || isatty(2) || (options->content && isatty(1))) {
        return false;
    }
    for (size_t at = 0; at < options->url_count; at++) {
        if (!url_is_plain(options->urls[at])) {
            return false;
        }
        for (size_t before = 0; before < at; before++) {
            if (!urls_differ(options->urls[before], options->urls[at])) {
                return false;
            }
        }
    }
    return !home_has_services(home);
}

static void exchange(Fetch *fetch, Connection *connection, const Buffer *requests) {
    Reception reception = connection_send(connection, requests) ? RECEIVED : GONE;
    while (reception == RECEIVED && fetch->printed < fetch->count) {
        Json *message = NULL;
        reception = connection_receive(connection, 0, &message);
        if (reception == RECEIVED) {
            take(fetch, connection, message);
            print_ready(fetch);
        }
    }
    if (reception != RECEIVED) {
        lose(fetch, reception);
    }
    connection_close(connection);
}

int run_fetch(char **arguments) {
    FetchOptions options;
    Home home;
    if (!options_read(&options, arguments) || !home_find(&home) || !is_ours(&options, &home)) {
        hand_over();
    }
    char *directory = options.output_dir ? absolute_path(options.output_dir) : home.artifacts;
    Fetch fetch = {.options = &options, .home = &home, .count = options.url_count, .all_usage = true};
    Buffer requests = {0};
    for (size_t at = 0; directory && at < fetch.count; at++) {
        fetch.slots[at].url = options.urls[at];
        options_request(&requests, &options, at, directory);
    }
    Connection connection;
    if (!directory || requests.size > MAX_REQUEST || !connection_open(&connection, &home)) {
        hand_over();
    }
    exchange(&fetch, &connection, &requests);
    if (fetch.failed.size) {
        Buffer out = {0};
        buffer_text(&out, "Failed:\n");
        buffer_slice(&out, buffer_view(&fetch.failed));
        write_out(&out);
        buffer_free(&out);
    }
    return exit_status(&fetch);
}
