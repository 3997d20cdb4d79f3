/* `cdpf status` and `cdpf stop` (cli/daemons.py, client.py). */
#include "connection.h"
#include "document.h"
#include "handover.h"
#include "output.h"
#include "process.h"
#include "text.h"
#include "verbs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATUS_MILLISECONDS = 15000, END_MILLISECONDS = 15000 };


/* Gives a key of the wire, in camelCase, the form that everything that users see has; false for one that is not ASCII. */
static bool snake_name(Arena *arena, Json *member) {
    Buffer name = {0};
    bool plain = true;
    for (size_t at = 0; at < member->name.size; at++) {
        char character = member->name.data[at];
        plain = plain && (unsigned char)character < 0x80;
        if (character >= 'A' && character <= 'Z') {
            buffer_char(&name, '_');
            character = (char)(character - 'A' + 'a');
        }
        buffer_char(&name, character);
    }
    char *kept = arena_take(arena, name.size);
    if (name.size) {
        memcpy(kept, name.data, name.size);
    }
    member->name = (Slice){kept, name.size};
    buffer_free(&name);
    return plain;
}

static bool snake_value(Arena *arena, Json *value) {
    for (Json *item = value->first; item; item = item->next) {
        if ((value->kind == JSON_OBJECT && !snake_name(arena, item)) || !snake_value(arena, item)) {
            return false;
        }
    }
    return true;
}

/* What is shown of a status: all but the fields of every message, after `running`. */
static Json *shown_status(Arena *arena, Json *message) {
    Json *shown = arena_take(arena, sizeof *shown);
    Json *running = arena_take(arena, sizeof *running);
    *shown = (Json){.kind = JSON_OBJECT};
    *running = (Json){.kind = JSON_TRUE, .name = slice_of("running")};
    json_put(shown, running);
    for (Json *member = message->first; member;) {
        Json *next = member->next;
        bool frame = slice_is(member->name, "id") || slice_is(member->name, "event") || slice_is(member->name, "op");
        if (!frame) {
            if (!snake_name(arena, member) || !snake_value(arena, member)) {
                return NULL;
            }
            json_put(shown, member);
        }
        member = next;
    }
    return shown;
}

/* Adds str(value) of Python, or what stands for one that is not there. */
static void add_value(Buffer *out, const Json *value, const char *absent) {
    if (!value) {
        buffer_text(out, absent);
    } else if (value->kind == JSON_STRING || value->kind == JSON_NUMBER) {
        text_write(out, value->text);
    } else {
        buffer_text(out, value->kind == JSON_TRUE ? "True" : value->kind == JSON_FALSE ? "False" : "None");
    }
}

static void add_line(Buffer *out, const char *label, const Json *value) {
    buffer_text(out, label);
    add_value(out, value, "None");
    buffer_char(out, '\n');
}

static double number_of(const Json *value) {
    char *text = slice_copy(json_text(value));
    double number = strtod(text, NULL);
    free(text);
    return number;
}

static void add_duration(Buffer *out, double seconds) {
    long long whole = (long long)seconds;
    long long hours = whole / 3600;
    long long minutes = whole / 60 % 60;
    if (hours) {
        buffer_format(out, "%lld h %lld min", hours, minutes);
    } else if (minutes) {
        buffer_format(out, "%lld min %lld s", minutes, whole % 60);
    } else {
        buffer_format(out, "%lld s", whole);
    }
}

static void add_guard(Buffer *out, const Json *guard) {
    const Json *lanes = json_get(guard, "lanes");
    double proved = 0;
    for (const Json *lane = json_is(lanes, JSON_ARRAY) ? lanes->first : NULL; lane; lane = lane->next) {
        double at = number_of(json_get(lane, "proved"));
        buffer_text(out, lane == lanes->first ? "guard     lanes " : ", ");
        add_value(out, json_get(lane, "name"), "None");
        proved = at > proved ? at : proved;
    }
    if (!json_truthy(lanes)) {
        return;
    }
    if (proved > 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        double ago = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - proved;
        buffer_text(out, ", proved ");
        add_duration(out, ago > 0 ? ago : 0);
        buffer_text(out, " ago, ");
    } else {
        buffer_text(out, ", not proved yet, ");
    }
    add_value(out, json_get(guard, "opened"), "0");
    buffer_text(out, " connections made, ");
    add_value(out, json_get(guard, "refused"), "0");
    buffer_text(out, " refused");
    if (json_truthy(json_get(guard, "upstream"))) {
        buffer_text(out, ", by ");
        add_value(out, json_get(guard, "upstream"), "");
    }
    buffer_char(out, '\n');
}

static void add_browser(Buffer *out, const Json *browser) {
    const Json *state = json_get(browser, "state");
    buffer_text(out, "browser   ");
    add_value(out, state, "None");
    if (json_truthy(json_get(browser, "version"))) {
        buffer_text(out, ", ");
        add_value(out, json_get(browser, "version"), "");
    }
    if (json_truthy(json_get(browser, "pid"))) {
        buffer_text(out, ", process ");
        add_value(out, json_get(browser, "pid"), "");
        buffer_text(out, json_truthy(json_get(browser, "sandboxed")) ? ", sandboxed" : ", without sandbox");
        if (!slice_is(json_text(state), "interactive")) {
            buffer_text(out, ", ");
            add_value(out, json_get(browser, "tabs"), "0");
            buffer_text(out, " tabs");
        }
    }
    if (json_truthy(json_get(browser, "executable"))) {
        buffer_text(out, ", ");
        add_value(out, json_get(browser, "executable"), "");
    }
    buffer_char(out, '\n');
}

static void add_counts(Buffer *out, const Json *status) {
    const Json *requests = json_get(status, "requests");
    const Json *workers = json_get(status, "workers");
    buffer_text(out, "requests  ");
    add_value(out, json_get(requests, "active"), "0");
    buffer_text(out, " under way, ");
    add_value(out, json_get(requests, "queued"), "0");
    buffer_text(out, " waiting, ");
    add_value(out, json_get(requests, "served"), "0");
    buffer_text(out, " served\n");
    add_guard(out, json_get(status, "guard"));
    buffer_text(out, "workers   ");
    add_value(out, json_get(workers, "alive"), "0");
    buffer_text(out, " alive, ");
    add_value(out, json_get(workers, "restarts"), "0");
    buffer_text(out, " restarted\n");
}

static void add_status(Buffer *out, const Json *status) {
    buffer_text(out, "daemon    cdpfetch ");
    add_value(out, json_get(status, "version"), "None");
    buffer_text(out, ", process ");
    add_value(out, json_get(status, "pid"), "None");
    buffer_text(out, ", up ");
    add_duration(out, number_of(json_get(status, "uptime_secs")));
    buffer_char(out, '\n');
    add_line(out, "home      ", json_get(status, "home"));
    add_line(out, "socket    ", json_get(status, "socket"));
    add_line(out, "log       ", json_get(status, "log"));
    add_line(out, "profile   ", json_get(status, "profile"));
    add_browser(out, json_get(status, "browser"));
    add_counts(out, status);
    const Json *warnings = json_get(status, "warnings");
    for (const Json *one = json_is(warnings, JSON_ARRAY) ? warnings->first : NULL; one; one = one->next) {
        add_line(out, "warning   ", json_get(one, "message"));
    }
}

/* Opens a connection and sends one request, or hands over. */
static void ask(Connection *connection, const Home *home, const char *request) {
    Buffer line = {0};
    buffer_text(&line, request);
    if (!connection_open(connection, home) || !connection_send(connection, &line)) {
        hand_over();
    }
    buffer_free(&line);
}

int run_status(char **arguments) {
    bool as_json = *arguments && strcmp(*arguments, "--json") == 0 && !arguments[1];
    Home home;
    Connection connection;
    if ((*arguments && !as_json) || !home_find(&home)) {
        hand_over();
    }
    ask(&connection, &home, "{\"id\":1,\"op\":\"status\"}\n");
    Json *message = NULL;
    Reception reception = connection_receive(&connection, clock_now() + STATUS_MILLISECONDS, &message);
    bool is_result = reception == RECEIVED && slice_is(json_text(json_get(message, "event")), "result");
    Json *shown = is_result ? shown_status(&connection.arena, message) : NULL;
    if (!shown) {
        hand_over(); /* asking twice changes nothing */
    }
    Buffer out = {0};
    if (as_json) {
        json_print(&out, shown);
        buffer_char(&out, '\n');
    } else {
        add_status(&out, shown);
    }
    write_out(&out);
    buffer_free(&out);
    connection_close(&connection);
    return EXIT_OK;
}

int run_stop(char **arguments) {
    Home home;
    Family family;
    Connection connection;
    if (*arguments || !home_find(&home) || !home_is_ours(&home) || !process_family(&home, &family)) {
        hand_over();
    }
    ask(&connection, &home, "{\"id\":1,\"op\":\"shutdown\",\"drain\":true}\n");
    long long deadline = clock_now() + END_MILLISECONDS;
    Json *message = NULL;
    while (connection_receive(&connection, deadline, &message) == RECEIVED) {
    }
    connection_close(&connection);
    if (!process_await(&family, END_MILLISECONDS)) {
        process_end(&home);
    }
    process_end_followers(&family);
    free(family.followers);
    Buffer out = {0};
    buffer_text(&out, "stopped\n");
    write_out(&out);
    buffer_free(&out);
    return EXIT_OK;
}
