/* SPDX-License-Identifier: MIT */
#include "base/parse.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* As systemd.time(7) has them: a year is 365.25 days, a month the twelfth of that. */
#define USEC_PER_YEAR ((usec_t) 31557600 * USEC_PER_SEC)
#define USEC_PER_MONTH (USEC_PER_YEAR / 12)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *s)
{
    while (is_blank(*s))
        s++;
    return s;
}

static bool only_blanks(const char *s)
{
    return *skip_blanks(s) == '\0';
}

/* Without the blanks around it, s is exactly word, as `compare` (strncmp or strncasecmp) sees it. */
static bool is_word(const char *s, const char *word,
                    int (*compare)(const char *, const char *, size_t))
{
    size_t n = strlen(word);

    s = skip_blanks(s);
    return compare(s, word, n) == 0 && only_blanks(s + n);
}

/* Reads the digits at *s and moves *s behind all of them, even when the number does not fit:
 * what follows decides whether it was a number at all. */
static int read_digits(const char **s, uint64_t *ret)
{
    uint64_t value = 0;
    bool fits = true;

    if (!is_digit(**s))
        return -EINVAL;
    for (; is_digit(**s); (*s)++) {
        uint64_t digit = (uint64_t) (**s - '0');

        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
            fits = false;
    }
    if (!fits)
        return -ERANGE;
    *ret = value;
    return 0;
}

int parse_u64(const char *s, uint64_t *ret)
{
    uint64_t value;
    int r;

    s = skip_blanks(s);
    r = read_digits(&s, &value);
    if (r == -EINVAL || !only_blanks(s))
        return -EINVAL;
    if (r < 0)
        return r;
    *ret = value;
    return 0;
}

int parse_i64(const char *s, int64_t *ret)
{
    uint64_t magnitude;
    bool negative;
    int r;

    s = skip_blanks(s);
    negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    if (!is_digit(*s))
        return -EINVAL;
    r = parse_u64(s, &magnitude);
    if (r < 0)
        return r;
    if (magnitude > (uint64_t) INT64_MAX + negative)
        return -ERANGE;
    *ret = negative ? (int64_t) (0 - magnitude) : (int64_t) magnitude;
    return 0;
}

/* [sign] digits [. digits] or [sign] . digits, blanks around it. */
static bool looks_decimal(const char *s)
{
    size_t whole, fraction = 0;

    s = skip_blanks(s);
    if (*s == '-' || *s == '+')
        s++;
    whole = strspn(s, "0123456789");
    s += whole;
    if (*s == '.') {
        fraction = strspn(s + 1, "0123456789");
        if (fraction == 0)
            return false;
        s += 1 + fraction;
    }
    return whole + fraction > 0 && only_blanks(s);
}

int parse_double(const char *s, double *ret)
{
    locale_t c_locale;
    double value;

    if (!looks_decimal(s))
        return -EINVAL;
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);
    if (c_locale == (locale_t) 0)
        return -ENOMEM;
    value = strtod_l(s, NULL, c_locale);
    freelocale(c_locale);
    if (__builtin_isinf(value))
        return -ERANGE;
    *ret = value;
    return 0;
}

int parse_bool(const char *s, bool *ret)
{
    static const char *const words[2][5] = {
        {"0", "no", "n", "false", "f"},
        {"1", "yes", "y", "true", "t"},
    };
    static const char *const switches[2] = {"off", "on"};

    for (size_t value = 0; value < 2; value++) {
        bool found = is_word(s, switches[value], strncasecmp);

        for (size_t i = 0; i < ARRAY_SIZE(words[value]) && !found; i++)
            found = is_word(s, words[value][i], strncasecmp);
        if (found) {
            *ret = value == 1;
            return 0;
        }
    }
    return -EINVAL;
}

static const struct time_unit {
    const char *name;
    usec_t usec;
} time_units[] = {
    {"", USEC_PER_SEC},
    {"seconds", USEC_PER_SEC},
    {"second", USEC_PER_SEC},
    {"sec", USEC_PER_SEC},
    {"s", USEC_PER_SEC},
    {"minutes", USEC_PER_MINUTE},
    {"minute", USEC_PER_MINUTE},
    {"min", USEC_PER_MINUTE},
    {"m", USEC_PER_MINUTE},
    {"hours", USEC_PER_HOUR},
    {"hour", USEC_PER_HOUR},
    {"hr", USEC_PER_HOUR},
    {"h", USEC_PER_HOUR},
    {"days", USEC_PER_DAY},
    {"day", USEC_PER_DAY},
    {"d", USEC_PER_DAY},
    {"weeks", 7 * USEC_PER_DAY},
    {"week", 7 * USEC_PER_DAY},
    {"w", 7 * USEC_PER_DAY},
    {"months", USEC_PER_MONTH},
    {"month", USEC_PER_MONTH},
    {"M", USEC_PER_MONTH},
    {"years", USEC_PER_YEAR},
    {"year", USEC_PER_YEAR},
    {"y", USEC_PER_YEAR},
    {"msec", USEC_PER_MSEC},
    {"ms", USEC_PER_MSEC},
    {"usec", 1},
    {"us", 1},
    {"\xc2\xb5s", 1}, /* micro sign */
    {"\xce\xbcs", 1}, /* Greek letter mu */
};

/* The unit at *s, which ends where a blank or the next number begins. NULL if there is no such. */
static const struct time_unit *read_time_unit(const char **s)
{
    const char *start = skip_blanks(*s);
    size_t n = strcspn(start, " \t\r\n.0123456789");

    for (size_t i = 0; i < ARRAY_SIZE(time_units); i++) {
        if (strlen(time_units[i].name) == n && memcmp(time_units[i].name, start, n) == 0) {
            *s = start + n;
            return &time_units[i];
        }
    }
    return NULL;
}

/* Digits behind a decimal point, as so many of `unit`: what is smaller than a microsecond is
 * dropped. */
static usec_t fraction_of(const char *digits, size_t n, usec_t unit)
{
    usec_t sum = 0;

    for (size_t i = 0; i < n && unit > 0; i++) {
        sum += (usec_t) (digits[i] - '0') * unit / 10;
        unit /= 10;
    }
    return sum;
}

/* One "number [blanks] [unit]" of a time span; moves *s behind it. */
static int read_time_part(const char **s, usec_t *ret)
{
    const char *fraction = NULL;
    const struct time_unit *unit;
    size_t fraction_length = 0;
    uint64_t whole = 0;
    usec_t part;
    int r;

    r = **s == '.' ? 0 : read_digits(s, &whole);
    if (r == -EINVAL)
        return r;
    if (**s == '.') {
        fraction = *s + 1;
        fraction_length = strspn(fraction, "0123456789");
        if (fraction_length == 0)
            return -EINVAL;
        *s = fraction + fraction_length;
    }
    unit = read_time_unit(s);
    if (!unit)
        return -EINVAL;
    part = usec_add(usec_mul(whole, unit->usec), fraction_of(fraction, fraction_length, unit->usec));
    if (r < 0 || part == USEC_INFINITY)
        return -ERANGE;
    *ret = part;
    return 0;
}

int parse_timespan(const char *s, usec_t *ret)
{
    usec_t sum = 0;

    if (is_word(s, "infinity", strncmp)) {
        *ret = USEC_INFINITY;
        return 0;
    }
    s = skip_blanks(s);
    do {
        usec_t part;
        int r = read_time_part(&s, &part);

        if (r < 0)
            return r;
        sum = usec_add(sum, part);
        s = skip_blanks(s);
    } while (*s != '\0');
    if (sum == USEC_INFINITY)
        return -ERANGE;
    *ret = sum;
    return 0;
}

/* The power of two of the suffix at s, which may be followed by blanks only; -EINVAL if there is
 * no such. */
static int size_suffix_shift(const char *s)
{
    static const char letters[] = "KMGTP";
    const char *letter;
    int shift = 0;

    s = skip_blanks(s);
    letter = *s != '\0' ? strchr(letters, *s) : NULL;
    if (letter) {
        shift = 10 * (int) (letter - letters + 1);
        s += strncmp(s + 1, "iB", 2) == 0 ? 2 : 1;
    }
    if (*s == 'B')
        s++;
    return only_blanks(s) ? shift : -EINVAL;
}

int parse_size(const char *s, uint64_t *ret)
{
    uint64_t value;
    int shift, r;

    if (is_word(s, "infinity", strncmp)) {
        *ret = UINT64_MAX;
        return 0;
    }
    s = skip_blanks(s);
    r = read_digits(&s, &value);
    if (r == -EINVAL)
        return r;
    shift = size_suffix_shift(s);
    if (shift < 0)
        return shift;
    if (r < 0 || __builtin_mul_overflow(value, UINT64_C(1) << shift, &value))
        return -ERANGE;
    *ret = value;
    return 0;
}

#define SIGNALS(x)                                                                               \
    x(HUP) x(INT) x(QUIT) x(ILL) x(TRAP) x(ABRT) x(BUS) x(FPE) x(KILL) x(USR1) x(SEGV) x(USR2)   \
    x(PIPE) x(ALRM) x(TERM) x(STKFLT) x(CHLD) x(CONT) x(STOP) x(TSTP) x(TTIN) x(TTOU) x(URG)     \
    x(XCPU) x(XFSZ) x(VTALRM) x(PROF) x(WINCH) x(IO) x(PWR) x(SYS)

#define SIGNAL_ROW(name) [SIG##name] = "SIG" #name,
static const char *const signal_names[] = {SIGNALS(SIGNAL_ROW)};

#define SIGNAL_MAX 64

int parse_signal(const char *s, int *ret)
{
    uint64_t number;
    int r;

    for (size_t i = 1; i < ARRAY_SIZE(signal_names); i++) {
        if (is_word(s, signal_names[i], strncmp) || is_word(s, signal_names[i] + 3, strncmp)) {
            *ret = (int) i;
            return 0;
        }
    }
    r = parse_u64(s, &number);
    if (r < 0)
        return r;
    if (number < 1 || number > SIGNAL_MAX)
        return -ERANGE;
    *ret = (int) number;
    return 0;
}

const char *signal_name(int signo)
{
    return signo > 0 && (size_t) signo < ARRAY_SIZE(signal_names) ? signal_names[signo] : NULL;
}
