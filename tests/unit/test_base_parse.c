/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <signal.h>

#include "base/parse.h"
#include "base/str.h"

/* Each row has a text, the result and, where that is 0, the value. The output begins as something
 * that no row yields, which a failure must leave there. */
#define ROWS_OF(type)      \
    static const struct {  \
        const char *text;  \
        int result;        \
        type value;        \
    } rows[]

#define CHECK_ROWS(type, parse, untouched)                                                   \
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {                                          \
        type expected = rows[i].result == 0 ? rows[i].value : (untouched);                   \
        type value = (untouched);                                                            \
                                                                                             \
        assert_row(rows[i].text, parse(rows[i].text, &value) == rows[i].result);             \
        assert_row(rows[i].text, !(value < expected) && !(value > expected));                \
    }

static void unsigned_numbers(void unused **state)
{
    ROWS_OF(uint64_t) = {
        {"0", 0, 0},
        {"  42\t", 0, 42},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"99999999999999999999999", -ERANGE, 0},
        {"99999999999999999999999x", -EINVAL, 0},
        {"", -EINVAL, 0},
        {" ", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"1 2", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"\xd9\xa1", -EINVAL, 0},
    };

    CHECK_ROWS(uint64_t, parse_u64, 4711)
}

static void signed_numbers(void unused **state)
{
    ROWS_OF(int64_t) = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"+42", 0, 42},
        {" -42 ", 0, -42},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775808", -ERANGE, 0},
        {"-9223372036854775808", 0, INT64_MIN},
        {"-9223372036854775809", -ERANGE, 0},
        {"-99999999999999999999", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"--1", -EINVAL, 0},
        {"- 1", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
    };

    CHECK_ROWS(int64_t, parse_i64, 4711)
}

static void fractions(void unused **state)
{
    static char huge[400];

    ROWS_OF(double) = {
        {"0", 0, 0},
        {"0.6", 0, 0.6},
        {" -1.5 ", 0, -1.5},
        {"+.25", 0, 0.25},
        {"10", 0, 10},
        {"1.", -EINVAL, 0},
        {".", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"1,5", -EINVAL, 0},
        {"0x1p3", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"nan", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"infinity", -EINVAL, 0},
        {"1.5 x", -EINVAL, 0},
        {huge, -ERANGE, 0},
    };

    memset(huge, '9', sizeof(huge) - 1);
    CHECK_ROWS(double, parse_double, 4711)
}

static void truth(void unused **state)
{
    ROWS_OF(int) = {
        {"1", 0, true},
        {"yes", 0, true},
        {"Y", 0, true},
        {" TRUE ", 0, true},
        {"t", 0, true},
        {"on", 0, true},
        {"0", 0, false},
        {"no", 0, false},
        {"N", 0, false},
        {"False", 0, false},
        {"f", 0, false},
        {"off", 0, false},
        {"", -EINVAL, 0},
        {"of", -EINVAL, 0},
        {"yess", -EINVAL, 0},
        {"o n", -EINVAL, 0},
        {"2", -EINVAL, 0},
        {"yes no", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool value = !rows[i].value;

        assert_row(rows[i].text, parse_bool(rows[i].text, &value) == rows[i].result);
        assert_row(rows[i].text, value == (rows[i].result == 0 ? rows[i].value : !rows[i].value));
    }
}

static void timespans(void unused **state)
{
    ROWS_OF(usec_t) = {
        {"0", 0, 0},
        {"10", 0, 10 * USEC_PER_SEC},
        {"10s", 0, 10 * USEC_PER_SEC},
        {" 10 s ", 0, 10 * USEC_PER_SEC},
        {"1h 30min", 0, 90 * USEC_PER_MINUTE},
        {"1h30min", 0, 90 * USEC_PER_MINUTE},
        {"5 minutes 3 seconds", 0, 303 * USEC_PER_SEC},
        {"500ms", 0, 500 * USEC_PER_MSEC},
        {"1.5s", 0, 1500 * USEC_PER_MSEC},
        {".5", 0, 500 * USEC_PER_MSEC},
        {"0.000001", 0, 1},
        {"0.0000019", 0, 1},
        {"1.5us", 0, 1},
        {"7us", 0, 7},
        {"7\xc2\xb5s", 0, 7},
        {"7\xce\xbcs", 0, 7},
        {"1.25h", 0, 75 * USEC_PER_MINUTE},
        {"2d", 0, 2 * USEC_PER_DAY},
        {"1w", 0, 7 * USEC_PER_DAY},
        {"1M", 0, 2629800 * USEC_PER_SEC},
        {"1m", 0, USEC_PER_MINUTE},
        {"1y", 0, 31557600 * USEC_PER_SEC},
        {"infinity", 0, USEC_INFINITY},
        {" infinity ", 0, USEC_INFINITY},
        {"18446744073709551614us", 0, USEC_INFINITY - 1},
        {"18446744073709551615us", -ERANGE, 0},
        {"99999999999999999999s", -ERANGE, 0},
        {"18446744073709s 999999999us", -ERANGE, 0},
        {"600000y", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"  ", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"1.", -EINVAL, 0},
        {"1.s", -EINVAL, 0},
        {"1..5", -EINVAL, 0},
        {"1 fortnight", -EINVAL, 0},
        {"1 H", -EINVAL, 0},
        {"10 s infinity", -EINVAL, 0},
        {"infinity s", -EINVAL, 0},
        {"1e3s", -EINVAL, 0},
    };

    CHECK_ROWS(usec_t, parse_timespan, 4711)
}

static void sizes(void unused **state)
{
    ROWS_OF(uint64_t) = {
        {"0", 0, 0},
        {"512", 0, 512},
        {"512B", 0, 512},
        {"4K", 0, 4096},
        {"4 KiB", 0, 4096},
        {"4KB", 0, 4096},
        {"16M", 0, UINT64_C(16) << 20},
        {"139 GiB", 0, UINT64_C(139) << 30},
        {"2T", 0, UINT64_C(2) << 40},
        {"3P", 0, UINT64_C(3) << 50},
        {"16383P", 0, UINT64_C(16383) << 50},
        {"16384P", -ERANGE, 0},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0},
        {"infinity", 0, UINT64_MAX},
        {"", -EINVAL, 0},
        {"K", -EINVAL, 0},
        {"4k", -EINVAL, 0},
        {"4KK", -EINVAL, 0},
        {"4Ki", -EINVAL, 0},
        {"4iB", -EINVAL, 0},
        {"4K 1", -EINVAL, 0},
        {"-4K", -EINVAL, 0},
        {"1.5G", -EINVAL, 0},
    };

    CHECK_ROWS(uint64_t, parse_size, 4711)
}

static void signals(void unused **state)
{
    ROWS_OF(int) = {
        {"SIGTERM", 0, SIGTERM},
        {"TERM", 0, SIGTERM},
        {" 15 ", 0, SIGTERM},
        {"SIGSYS", 0, SIGSYS},
        {"HUP", 0, SIGHUP},
        {"1", 0, 1},
        {"64", 0, 64},
        {"0", -ERANGE, 0},
        {"65", -ERANGE, 0},
        {"99999999999999999999", -ERANGE, 0},
        {"", -EINVAL, 0},
        {"SIG", -EINVAL, 0},
        {"SIGTERMS", -EINVAL, 0},
        {"SIGSIGTERM", -EINVAL, 0},
        {"-15", -EINVAL, 0},
    };

    CHECK_ROWS(int, parse_signal, 4711)
}

static void signal_names_and_back(void unused **state)
{
    for (int signo = 1; signo < 32; signo++) {
        const char *name = signal_name(signo);
        int back = 0;

        assert_non_null(name);
        if (signo != SIGIO) /* which glibc calls POLL, and ps and kill do not */
            assert_string_equal(name + 3, sigabbrev_np(signo));
        assert_int_equal(parse_signal(name, &back), 0);
        assert_int_equal(back, signo);
    }
    assert_null(signal_name(0));
    assert_null(signal_name(-1));
    assert_null(signal_name(32));
    assert_null(signal_name(64));
    assert_null(signal_name(INT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(signed_numbers),
        cmocka_unit_test(fractions),
        cmocka_unit_test(truth),
        cmocka_unit_test(timespans),
        cmocka_unit_test(sizes),
        cmocka_unit_test(signals),
        cmocka_unit_test(signal_names_and_back),
    };

    return cmocka_run_group_tests_name("base_parse", tests, NULL, NULL);
}
