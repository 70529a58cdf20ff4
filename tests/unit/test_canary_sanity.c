/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/str.h"
#include "core/canary/sanity.h"

#define U "\xef\xbf\xbd"

static void texts(void unused **state)
{
    static const struct {
        const char *text;
        uint64_t tokens;
        const char *wrong; /* part of it; NULL: nothing */
    } rows[] = {
        {"one, two, three, four, five", 12, NULL},
        {"", 1, NULL},
        {"", 16, "nothing but blanks"},
        {" ", 1, NULL},
        {"\n\n\t \r\n", 7, NULL},
        {"\n\n\n\n\n\n\n\n", 0, "nothing but blanks"},
        {"    ", 16, "nothing but blanks"},
        {"!!!!!!!!!!!!!!!!", 16, "exclamation marks"},
        {"! ! ! !", 4, "exclamation marks"},
        {"!!!", 3, NULL},
        {"Hurray!!!!", 5, NULL},
        {U U U U, 4, "U+FFFD"},
        {U U U U U "abcd", 9, "U+FFFD"},
        {U U U U U "abcdefgh", 9, NULL},
        {"twenty " U U U, 4, NULL},
        {"the the the the the the the the", 8, "again and again"},
        {" the the the the the the the the the the the", 11, "again and again"},
        {"the the the the the the the the", 4, NULL},
        {"the the the the the the the", 8, NULL},
        {"00000000", 0, "again and again"},
        {"0000000", 7, NULL},
        {"\xe6\x98\xaf\xe6\x98\xaf\xe6\x98\xaf\xe6\x98\xaf\xe6\x98\xaf\xe6\x98\xaf\xe6\x98\xaf\xe6\x98\xaf", 8,
         "again and again"},
        {"no no no no no no no no no yes", 10, NULL},
        {"ab, cd; ab, cd; ab, cd; ab, cd; ab, cd; ab, cd; ab, cd; ab, cd; ", 32, "again and again"},
        {"A sentence that is longer than a token. A sentence that is longer than a token. A sentence that is "
         "longer than a token. A sentence that is longer than a token. A sentence that is longer than a "
         "token. A sentence that is longer than a token. A sentence that is longer than a token. A sentence "
         "that is longer than a token. ", 80, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *wrong = sanity_check(rows[i].text, strlen(rows[i].text), rows[i].tokens);

        assert_row(rows[i].text, (wrong != NULL) == (rows[i].wrong != NULL));
        if (wrong)
            assert_row(rows[i].text, strstr(wrong, rows[i].wrong) != NULL);
    }
}

/* Only the beginning is looked at, and zero bytes are characters. */
static void long_texts(void unused **state)
{
    _cleanup_strbuf_ struct strbuf b = {};
    static const char zeros[16];

    for (int i = 0; i < 5000; i++)
        strbuf_append(&b, "na ");
    strbuf_append(&b, "batman");
    assert_non_null(sanity_check(b.data, b.len, 5001));
    assert_non_null(sanity_check(zeros, sizeof(zeros), 16));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(long_texts)};

    return cmocka_run_group_tests_name("canary sanity", tests, NULL, NULL);
}
