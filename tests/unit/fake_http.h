/* SPDX-License-Identifier: MIT */
#pragma once

/* A server in a process of its own that says what a test wants said, byte by byte. */

#include <stddef.h>

/* X(constant, what it does)
 * SEND   the bytes
 * FLOOD  the bytes again and again, until the client is gone
 * PAUSE  so many milliseconds
 * HANG   until the client closes, which is then among the requests as "closed"
 * RESET  closes the connection with a reset */
enum fake_act { FAKE_SEND, FAKE_FLOOD, FAKE_PAUSE, FAKE_HANG, FAKE_RESET };

struct fake_step {
    enum fake_act act;
    const char *bytes;
    size_t n; /* bytes, or milliseconds */
};

/* What becomes of one connection once its request is in; it is closed at the end. */
struct fake_script {
    struct fake_step steps[8];
    size_t n;
};

#define FAKE_TEXT(text) {FAKE_SEND, (text), sizeof(text) - 1}
#define FAKE_FLOOD_OF(text) {FAKE_FLOOD, (text), sizeof(text) - 1}
#define FAKE_BYTES(array) {FAKE_SEND, (array), sizeof(array)}
#define FAKE_SCRIPT(...) \
    {.steps = {__VA_ARGS__}, .n = sizeof((struct fake_step[]){__VA_ARGS__}) / sizeof(struct fake_step)}
/* An answer as most servers send it. */
#define FAKE_JSON(body) \
    FAKE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" body)

struct fake_http;

/* On a free port of the loopback, or on a unix socket at `path` (NULL: the port). The i-th connection gets
 * the i-th script, those that come later the last one. Scripts are static. */
struct fake_http *fake_http_new(const char *path, const struct fake_script *scripts, size_t n);
/* http://127.0.0.1:PORT or unix:PATH */
const char *fake_http_base(const struct fake_http *f);
/* The next request as it came, up to 4000 bytes of it; owned; waits for it. */
char *fake_http_request(struct fake_http *f);
void fake_http_free(struct fake_http *f);
