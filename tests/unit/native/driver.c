/* What tests ask of the parts of cdpf: one function on many inputs, or a number of rounds of random ones.
 *   driver json|failure|digest|line|bytes|url   inputs on standard input, each after its size (4 bytes, big-endian); outputs alike
 *   driver fuzz-json|fuzz-lines SEED ROUNDS */
#include "../../../cdpfetch/native/buffer.h"
#include "../../../cdpfetch/native/connection.h"
#include "../../../cdpfetch/native/document.h"
#include "../../../cdpfetch/native/json.h"
#include "../../../cdpfetch/native/text.h"
#include "../../../cdpfetch/native/url.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint64_t state;

static uint32_t roll(uint32_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33) % below;
}

static void check(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* JSON, and what may follow a parse: printing, the digest's lines, and the document of a failure. */
static void use_json(Buffer *out, Slice text) {
    Arena arena = {0};
    const Json *value = json_parse(&arena, text);
    if (value) {
        json_print(out, value);
    }
    arena_free(&arena);
}

static void use_failure(Buffer *out, Slice text) {
    Arena arena = {0};
    Json *value = json_parse(&arena, text);
    Failure failure = {known_code(json_get(value, "code")), slice_of("the reason"), json_get(value, "hint")};
    json_print(out, document_failed(&arena, slice_of("http://x/"), &failure, json_get(value, "document")));
    arena_free(&arena);
}

static void use_digest(Buffer *out, Slice text) {
    Arena arena = {0};
    const Json *value = json_parse(&arena, text);
    if (value) {
        document_entry(out, 7, value);
        document_failure(out, value);
        static const char *const formats[] = {"markdown", "text", "source", "html"};
        for (size_t at = 0; at < 4; at++) {
            Buffer reason = {0};
            Buffer hint = {0};
            const Json *body = document_body(value, formats[at]);
            document_lacks(&reason, &hint, value, formats[at]);
            if (body) {
                text_write(out, json_text(json_get(body, "path")));
            } else {
                text_write(out, buffer_view(&reason));
                buffer_char(out, '|');
                text_write(out, buffer_view(&hint));
            }
            buffer_char(out, '\n');
            buffer_free(&reason);
            buffer_free(&hint);
        }
    }
    arena_free(&arena);
}

static void use_line(Buffer *out, Slice text) {
    if (text_is_utf8(text, true)) {
        text_one_line(out, text, 20);
        buffer_char(out, '\n');
        text_one_line(out, text, 500);
    }
}

static void use_bytes(Buffer *out, Slice text) {
    char *number = slice_copy(text);
    text_human_bytes(out, strtoull(number, NULL, 10));
    free(number);
}

static void use_url(Buffer *out, Slice text) {
    char *url = slice_copy(text);
    buffer_text(out, url_is_plain(url) ? "plain" : "");
    free(url);
}

static const struct {
    const char *name;
    void (*use)(Buffer *out, Slice text);
} USES[] = {
    {"json", use_json},   {"failure", use_failure}, {"digest", use_digest},
    {"line", use_line},   {"bytes", use_bytes},     {"url", use_url},
};

static bool read_exactly(unsigned char *data, size_t size) {
    return fread(data, 1, size, stdin) == size;
}

static void serve(void (*use)(Buffer *out, Slice text)) {
    unsigned char head[4];
    while (read_exactly(head, sizeof head)) {
        size_t size = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        /* Exactly as large, so that a step beyond it is seen. */
        char *text = allocate(size);
        check(read_exactly((unsigned char *)text, size), "the input is cut");
        Buffer out = {0};
        use(&out, (Slice){text, size});
        unsigned char length[4] = {(unsigned char)(out.size >> 24), (unsigned char)(out.size >> 16),
                                   (unsigned char)(out.size >> 8), (unsigned char)out.size};
        fwrite(length, 1, sizeof length, stdout);
        if (out.size) {
            fwrite(out.data, 1, out.size, stdout);
        }
        buffer_free(&out);
        free(text);
    }
}

static const char *const SEEDS[] = {
    "{\"id\":1,\"event\":\"result\",\"document\":{\"url\":\"http://x/\",\"ok\":true,\"facts\":[\"a\",\"b\\u00e9\"],"
    "\"bodies\":[{\"name\":\"content.md\",\"role\":\"content\",\"lines\":3,\"bytes\":25900}],\"dir\":\"/x/\"}}",
    "{\"event\":\"error\",\"code\":\"timeout\",\"reason\":\"\\ud83d\\ude00 \\ud800\",\"hint\":null,\"x\":[1,-2.5e+10]}",
    "[[[[{\"a\":{\"b\":[true,false,null,NaN,-Infinity]}}]]]]",
    "{\"title\":\"a\\u001b[31mb\\u009b\\u007f\",\"warnings\":[{\"message\":\"\xE2\x80\xAE\"}],\"excerpt\":\"\\t\\n\"}",
    "{\"attempts\":[{\"source\":\"local\",\"reason\":\"r\"}],\"error\":{\"reason\":\"r\",\"hint\":\"h\"},\"url\":\"\"}",
};
enum { SEED_COUNT = sizeof SEEDS / sizeof *SEEDS };

/* A seed with some bytes changed, left out, doubled, or exchanged for marks that mean something. */
static void mutate(Buffer *out) {
    static const char marks[] = "{}[]\",:\\u09eE+-.tfn \n\x1b\x80\xc3\xed\xf4";
    Slice seed = slice_of(SEEDS[roll(SEED_COUNT)]);
    uint32_t rate = 1 + roll(60);
    for (size_t at = 0; at < seed.size; at++) {
        char character = seed.data[at];
        switch (roll(rate * 4)) {
        case 0:
            buffer_char(out, (char)roll(256));
            break;
        case 1:
            break;
        case 2:
            buffer_char(out, marks[roll(sizeof marks - 1)]);
            buffer_char(out, character);
            break;
        case 3:
            buffer_add(out, seed.data, roll((uint32_t)seed.size));
            break;
        default:
            buffer_char(out, character);
        }
    }
}

static void fuzz_json(unsigned long rounds) {
    while (rounds--) {
        Buffer text = {0};
        mutate(&text);
        char *exact = allocate(text.size);
        if (text.size) {
            memcpy(exact, text.data, text.size);
        }
        Slice input = {exact, text.size};
        Buffer once = {0};
        Buffer twice = {0};
        use_json(&once, input);
        use_json(&twice, buffer_view(&once));
        check(once.size == twice.size && (!once.size || memcmp(once.data, twice.data, once.size) == 0),
              "what was printed reads otherwise");
        Buffer rest = {0};
        use_failure(&rest, input);
        use_digest(&rest, input);
        use_line(&rest, input);
        use_url(&rest, input);
        check(text_is_utf8(buffer_view(&rest), true), "what was printed is no UTF-8");
        buffer_free(&rest);
        buffer_free(&twice);
        buffer_free(&once);
        buffer_free(&text);
        free(exact);
    }
}

/* Lines in pieces of any size through a real socket: those that are messages come out whole, in order. */
static void fuzz_lines(unsigned long rounds) {
    while (rounds--) {
        int ends[2];
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
        Connection connection = {.socket = ends[0]};
        Buffer sent = {0};
        uint32_t lines = 1 + roll(20);
        for (uint32_t line = 1; line <= lines; line++) {
            buffer_format(&sent, roll(4) || line == lines ? "{\"n\":%u}\n" : "{\"event\":\"heartbeat\",\"n\":%u}\n", line);
        }
        bool broken = roll(3) == 0;
        if (broken) {
            mutate(&sent);
        }
        Reception reception = RECEIVED;
        uint64_t last = 0;
        for (size_t at = 0; at < sent.size && reception == RECEIVED;) {
            size_t size = 1 + roll(40);
            size = size < sent.size - at ? size : sent.size - at;
            check(write(ends[1], sent.data + at, size) == (ssize_t)size, "write");
            at += size;
            Json *message = NULL;
            while ((reception = connection_receive(&connection, clock_now(), &message)) == RECEIVED) {
                uint64_t number = 0;
                if (json_count(json_get(message, "n"), &number) && !broken) {
                    check(!last || number > last, "a line came twice");
                    last = number;
                }
            }
            reception = reception == LATE ? RECEIVED : reception;
        }
        check(reception == RECEIVED || (broken && reception == NONSENSE), "the connection ended");
        check(broken || last == lines, "a line was lost");
        close(ends[1]);
        connection_close(&connection);
        buffer_free(&sent);
    }
}

int main(int count, char **arguments) {
    for (size_t at = 0; count == 2 && at < sizeof USES / sizeof *USES; at++) {
        if (strcmp(arguments[1], USES[at].name) == 0) {
            serve(USES[at].use);
            return 0;
        }
    }
    if (count != 4) {
        return 2;
    }
    state = strtoull(arguments[2], NULL, 10);
    unsigned long rounds = strtoul(arguments[3], NULL, 10);
    if (strcmp(arguments[1], "fuzz-json") == 0) {
        fuzz_json(rounds);
    } else {
        fuzz_lines(rounds);
    }
    return 0;
}
