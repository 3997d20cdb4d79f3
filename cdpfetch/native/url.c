#include "url.h"

#include <string.h>
#include <strings.h>

static bool is_letter(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

static bool is_alphanumeric(char character) {
    return is_letter(character) || (character >= '0' && character <= '9');
}

/* The length of a scheme and its colon, or 0. */
static size_t scheme_of(const char *url) {
    size_t size = 0;
    while (is_alphanumeric(url[size]) || (size && url[size] && strchr("+-.", url[size]))) {
        size++;
    }
    return size && is_letter(*url) && url[size] == ':' ? size + 1 : 0;
}

static bool names_github(const char *text) {
    while (*text && strncasecmp(text, "github", 6) != 0) {
        text++;
    }
    return *text != '\0';
}

bool url_is_plain(const char *url) {
    size_t scheme = scheme_of(url);
    bool web = strncasecmp(url, "http:", scheme) == 0 || strncasecmp(url, "https:", scheme) == 0;
    if (!scheme || names_github(url)) {
        return false;
    }
    if (!web) {
        /* The daemon says what it thinks of other schemes. */
        return strncasecmp(url, "git", 3) != 0 && url[scheme] != '/';
    }
    const char *host = url + scheme;
    if (strncmp(host, "//", 2) != 0) {
        return false;
    }
    host += 2;
    size_t size = 0;
    while (is_alphanumeric(host[size]) || (host[size] && strchr(".-:", host[size]))) {
        size++;
    }
    if (!size || (host[size] && !strchr("/?#", host[size]))) {
        return false;
    }
    for (const char *rest = host + size; *rest; rest++) {
        if (*rest <= ' ' || *rest > '~') {
            return false;
        }
    }
    return true;
}

/* The next character of a URL that counts when spellings are compared: letters without their case, and digits. */
static char significant(const char **url) {
    while (**url && **url != '#') {
        char character = *(*url)++;
        if (character >= 'A' && character <= 'Z') {
            character = (char)(character - 'A' + 'a');
        }
        if (is_alphanumeric(character) || (unsigned char)character >= 0x80) {
            return character;
        }
    }
    return '\0';
}

bool urls_differ(const char *one, const char *other) {
    char left;
    do {
        left = significant(&one);
        char right = significant(&other);
        if (left != right) {
            return true;
        }
    } while (left);
    return false;
}
