/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <string.h>

#include "base/timeutil.h"

#define MS USEC_PER_MSEC
#define S USEC_PER_SEC
#define MIN_ USEC_PER_MINUTE
#define H USEC_PER_HOUR
#define D USEC_PER_DAY

static void arithmetic_saturates(void unused **state)
{
    assert_int_equal(usec_add(1, 2), 3);
    assert_int_equal(usec_add(USEC_INFINITY, 0), USEC_INFINITY);
    assert_int_equal(usec_add(USEC_INFINITY - 1, 1), USEC_INFINITY);
    assert_int_equal(usec_add(USEC_INFINITY - 1, 2), USEC_INFINITY);
    assert_int_equal(usec_add(USEC_INFINITY, USEC_INFINITY), USEC_INFINITY);

    assert_int_equal(usec_sub(5, 3), 2);
    assert_int_equal(usec_sub(3, 5), 0);
    assert_int_equal(usec_sub(USEC_INFINITY, 5), USEC_INFINITY);
    assert_int_equal(usec_sub(5, USEC_INFINITY), 0);

    assert_int_equal(usec_mul(3, 4), 12);
    assert_int_equal(usec_mul(0, UINT64_MAX), 0);
    assert_int_equal(usec_mul(USEC_INFINITY, 0), 0);
    assert_int_equal(usec_mul(USEC_INFINITY, 1), USEC_INFINITY);
    assert_int_equal(usec_mul(UINT64_C(1) << 63, 2), USEC_INFINITY);
}

static void timespans_are_told_for_people(void unused **state)
{
    static const struct {
        usec_t span;
        const char *expected;
    } rows[] = {
        {0, "0 s"},
        {1, "1 us"},
        {999, "999 us"},
        {MS, "1 ms"},
        {350 * MS, "350 ms"},
        {999 * MS + 999, "999 ms"},
        {S, "1 s"},
        {1500 * MS, "1.5 s"},
        {1999 * MS, "1.9 s"},
        {9999 * MS, "9.9 s"},
        {10500 * MS, "10 s"},
        {630 * S, "630 s"},
        {12 * MIN_ - 1, "719 s"},
        {12 * MIN_, "12 min"},
        {12 * MIN_ + 30 * S, "12 min 30 s"},
        {2 * H - 1, "119 min 59 s"},
        {2 * H, "2 h"},
        {2 * H + 5 * MIN_ + 59 * S, "2 h 5 min"},
        {2 * D - 1, "47 h 59 min"},
        {2 * D, "2 d"},
        {3 * D + 4 * H + 59 * MIN_, "3 d 4 h"},
        {USEC_INFINITY - 1, "213503982 d 8 h"},
        {USEC_INFINITY, "infinity"},
    };
    char buf[FORMAT_TIMESPAN_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_ptr_equal(format_timespan(buf, rows[i].span), buf);
        assert_string_equal(buf, rows[i].expected);
    }
}

static void timestamps_are_rfc3339(void unused **state)
{
    static const struct {
        usec_t realtime;
        const char *expected;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {1767323045 * S + 6, "2026-01-02T03:04:05.000006Z"},
        {951782400 * S, "2000-02-29T00:00:00.000000Z"},
        {UINT64_C(253402300799) * S + 999999, "9999-12-31T23:59:59.999999Z"},
        {UINT64_C(253402300800) * S, "infinity"},
        {USEC_INFINITY, "infinity"},
    };
    char buf[FORMAT_TIMESTAMP_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_string_equal(format_timestamp(buf, rows[i].realtime), rows[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_saturates),
        cmocka_unit_test(timespans_are_told_for_people),
        cmocka_unit_test(timestamps_are_rfc3339),
    };

    return cmocka_run_group_tests_name("base_timeutil", tests, NULL, NULL);
}
