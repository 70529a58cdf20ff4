/* SPDX-License-Identifier: MIT */
#include "port/unit_name.h"

#include "base/str.h"

#define PREFIX "coalmine@"
#define SUFFIX ".service"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that "\xHH" at s stands for, 0 for anything else. */
static unsigned escaped_byte(const char *s)
{
    int high, low;

    if (s[0] != '\\' || s[1] != 'x')
        return 0;
    high = hex_digit(s[2]);
    low = high < 0 ? -1 : hex_digit(s[3]);
    return low < 0 ? 0 : (unsigned) (high * 16 + low);
}

char *unit_name_unescape(const char *text)
{
    struct strbuf b = {};

    while (*text) {
        unsigned byte = escaped_byte(text);

        strbuf_append_char(&b, byte ? (char) byte : *text);
        text += byte ? strlen("\\xHH") : 1;
    }
    return strbuf_steal(&b);
}

static bool stands_for_itself(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr(":-_.@", c));
}

char *unit_name_of(const char *instance)
{
    struct strbuf b = {};

    strbuf_append(&b, PREFIX);
    for (const char *c = instance; *c; c++) {
        if (stands_for_itself(*c))
            strbuf_append_char(&b, *c);
        else
            strbuf_appendf(&b, "\\x%02x", (unsigned) (unsigned char) *c);
    }
    strbuf_append(&b, SUFFIX);
    return strbuf_steal(&b);
}
