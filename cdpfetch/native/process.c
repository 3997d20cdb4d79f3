#include "process.h"

#include "buffer.h"
#include "connection.h"
#include "json.h"
#include "output.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FOLLOW_MILLISECONDS = 3000, END_MILLISECONDS = 15000, LOOK_NANOSECONDS = 20000000, COMMAND_MAX = 1 << 21 };

typedef struct {
    Process process;
    int parent;
} Entry;

static bool read_entry(int pid, Entry *entry) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    Buffer text = {0};
    bool good = read_file(path, 4096, &text) == 0;
    buffer_char(&text, '\0');
    /* The second field may hold blanks and brackets. */
    const char *rest = good ? strrchr(text.data, ')') : NULL;
    char state = 0;
    good = rest && sscanf(rest + 1, " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                          &state, &entry->parent, &entry->process.started) == 3;
    entry->process.pid = pid;
    buffer_free(&text);
    return good && state != 'Z' && state != 'X';
}

static bool is_alive(const Process *process) {
    Entry now;
    return read_entry(process->pid, &now) && now.process.started == process->started;
}

static bool command_has(int pid, const char *word) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    Buffer text = {0};
    bool found = false;
    if (read_file(path, COMMAND_MAX, &text) == 0) {
        size_t size = strlen(word);
        for (size_t at = 0; !found && at + size <= text.size; at++) {
            found = memcmp(text.data + at, word, size) == 0;
        }
    }
    buffer_free(&text);
    return found;
}

static bool named_daemon(const Home *home, Process *daemon) {
    Buffer text = {0};
    Arena arena = {0};
    uint64_t pid = 0;
    Entry now = {0};
    bool good = read_file(home->pidfile, 4096, &text) == 0;
    const Json *entry = good ? json_parse(&arena, buffer_view(&text)) : NULL;
    const Json *started = json_get(entry, "started");
    if (entry && json_count(json_get(entry, "pid"), &pid) && pid > 1 && pid < 1U << 30 && started) {
        char tick[32];
        good = read_entry((int)pid, &now);
        snprintf(tick, sizeof tick, "%llu", now.process.started);
        good = good && slice_is(started->text, tick) && command_has((int)pid, "cdpfetch");
    } else {
        good = false;
    }
    *daemon = now.process;
    arena_free(&arena);
    buffer_free(&text);
    return good;
}

/* Every process that can be seen. */
static size_t list(Entry **entries) {
    Buffer found = {0};
    DIR *directory = opendir("/proc");
    for (const struct dirent *name; directory && (name = readdir(directory));) {
        Entry entry;
        char *end;
        long pid = strtol(name->d_name, &end, 10);
        if (pid > 0 && !*end && read_entry((int)pid, &entry)) {
            buffer_add(&found, &entry, sizeof entry);
        }
    }
    if (directory) {
        closedir(directory);
    }
    *entries = (Entry *)(void *)found.data;
    return found.size / sizeof(Entry);
}

enum { OUTSIDE, BELOW, FOLLOWS };

/* Marks what is below the daemon, and of that what has to end with it; children after their parents, by and by. */
static void mark(const Entry *entries, unsigned char *marks, size_t count, int daemon) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t at = 0; at < count; at++) {
            if (marks[at]) {
                continue;
            }
            unsigned char parent = entries[at].parent == daemon ? BELOW : OUTSIDE;
            bool chrome = false;
            for (size_t other = 0; !parent && other < count; other++) {
                if (entries[other].process.pid == entries[at].parent && marks[other]) {
                    parent = BELOW;
                    chrome = marks[other] == FOLLOWS && !command_has(entries[other].process.pid, "cdpfetch.extract");
                }
            }
            if (parent) {
                int pid = entries[at].process.pid;
                bool own = command_has(pid, "--remote-debugging-pipe") || command_has(pid, "cdpfetch.extract");
                marks[at] = chrome || own ? FOLLOWS : BELOW;
                changed = true;
            }
        }
    }
}

bool process_family(const Home *home, Family *family) {
    *family = (Family){0};
    if (!named_daemon(home, &family->daemon)) {
        return false;
    }
    Entry *entries;
    size_t count = list(&entries);
    unsigned char *marks = allocate(count);
    memset(marks, OUTSIDE, count);
    mark(entries, marks, count, family->daemon.pid);
    family->followers = allocate(count * sizeof *family->followers);
    for (size_t at = 0; at < count; at++) {
        if (marks[at] == FOLLOWS) {
            family->followers[family->count++] = entries[at].process;
        }
    }
    free(marks);
    free(entries);
    return true;
}

static bool any_alive(const Process *processes, unsigned count) {
    for (unsigned at = 0; at < count; at++) {
        if (is_alive(&processes[at])) {
            return true;
        }
    }
    return false;
}

static bool await_all(const Process *processes, unsigned count, long long milliseconds) {
    long long end = clock_now() + milliseconds;
    while (any_alive(processes, count)) {
        if (clock_now() > end) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = LOOK_NANOSECONDS}, NULL);
    }
    return true;
}

static void kill_all(const Process *processes, unsigned count) {
    for (unsigned at = 0; at < count; at++) {
        if (is_alive(&processes[at])) {
            kill(processes[at].pid, SIGKILL);
        }
    }
}

bool process_await(const Family *family, long long milliseconds) {
    return await_all(&family->daemon, 1, milliseconds);
}

void process_end_followers(const Family *family) {
    if (!await_all(family->followers, family->count, FOLLOW_MILLISECONDS)) {
        kill_all(family->followers, family->count);
        await_all(family->followers, family->count, FOLLOW_MILLISECONDS);
    }
}

bool process_end(const Home *home) {
    Family family;
    if (!process_family(home, &family)) {
        return false;
    }
    kill_all(&family.daemon, 1);
    process_await(&family, END_MILLISECONDS);
    process_end_followers(&family);
    free(family.followers);
    return true;
}
