/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/timestamp.h"

#include <stddef.h>
#include <string.h>

#include "core/diagnosis/charset.h"

static const char *skip_digits(const char *s, size_t min, size_t max)
{
    size_t n = s ? charset_span(s, CHARSET_DIGIT) : 0;

    return n >= min && n <= max ? s + n : NULL;
}

static const char *skip_char(const char *s, const char *any_of)
{
    return s && *s != '\0' && strchr(any_of, *s) ? s + 1 : NULL;
}

static const char *skip_fraction(const char *s)
{
    const char *end = skip_digits(skip_char(s, ".,"), 1, 12);

    return end ? end : s;
}

const char *timestamp_skip_clock(const char *s)
{
    const char *end = skip_digits(s, 1, 2);

    end = skip_digits(skip_char(end, ":"), 2, 2);
    end = skip_digits(skip_char(end, ":"), 2, 10);
    return end ? skip_fraction(end) : NULL;
}

const char *timestamp_skip_uptime(const char *s)
{
    return skip_digits(skip_char(skip_digits(s, 1, 10), "."), 3, 9);
}

/* "Z", "+01:00", "-0800", " UTC" */
static const char *skip_zone(const char *s)
{
    const char *end;

    if (*s == 'Z')
        return s + 1;
    end = skip_digits(skip_char(s, "+-"), 2, 4);
    if (!end)
        return strncmp(s, " UTC", 4) == 0 ? s + 4 : s;
    return *end == ':' && skip_digits(end + 1, 2, 2) ? end + 3 : end;
}

/* 2025-02-09, 2023/12/24, 12/07/2025, 01-12 */
static const char *skip_date(const char *s)
{
    const char *end = skip_digits(skip_char(skip_digits(s, 2, 4), "-/"), 2, 2);
    const char *third = skip_digits(skip_char(end, "-/"), 2, 4);

    return third ? third : end;
}

/* What stands between date and clock. */
static const char *skip_between(const char *s)
{
    if (strncmp(s, " - ", 3) == 0)
        return s + 3;
    return skip_char(s, " T-|_");
}

static const char *skip_numeric(const char *s)
{
    const char *end = skip_date(s);

    end = end ? skip_between(end) : NULL;
    end = end ? timestamp_skip_clock(end) : NULL;
    return end ? skip_zone(end) : NULL;
}

/* A month or a weekday in any language: three or four letters, the first a capital. */
static const char *skip_name(const char *s)
{
    size_t n = *s >= 'A' && *s <= 'Z' ? strcspn(s, " ") : 0;
    bool letters = n >= 3 && n <= 6;

    for (size_t i = 1; letters && i < n; i++)
        letters = (s[i] >= 'a' && s[i] <= 'z') || s[i] == '.' || (unsigned char) s[i] >= 0x80;
    return letters && s[n] == ' ' ? s + n + 1 : NULL;
}

/* "Aug 29 17:55:37", "Sun Feb 23 16:24:18 2025", "Thu 2025-01-23 11:55:50 UTC" */
static const char *skip_named(const char *s)
{
    const char *end = skip_name(s), *year;

    if (!end)
        return NULL;
    if (skip_numeric(end))
        return skip_numeric(end);
    if (skip_name(end))
        end = skip_name(end);
    end += *end == ' ';
    end = skip_char(skip_digits(end, 1, 2), " ");
    end = end ? timestamp_skip_clock(end) : NULL;
    year = skip_digits(skip_char(end, " "), 4, 4);
    return year ? year : end;
}

const char *timestamp_skip(const char *s)
{
    const char *end = skip_numeric(s);

    if (!end)
        end = skip_named(s);
    if (!end)
        end = timestamp_skip_clock(s);
    return end ? end : skip_digits(skip_char(skip_digits(s, 10, 10), "."), 2, 9);
}

bool timestamp_is_full(const char *s)
{
    const char *end = skip_digits(s, 4, 4);

    end = skip_digits(skip_char(end, "-"), 2, 2);
    end = skip_digits(skip_char(end, "-"), 2, 2);
    end = skip_char(end, " T");
    return end && timestamp_skip_clock(end);
}
