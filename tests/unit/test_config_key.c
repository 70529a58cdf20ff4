/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "core/config/config.h"
#include "core/config/config_key.h"
#include "core/config/config_section.h"
#include "core/config/config_text.h"
#include "core/config/config_value.h"

static void every_name_is_there_once(void unused **state)
{
    for (size_t i = 0; i < N_CONFIG_SECTIONS; i++)
        assert_ptr_equal(config_section_find(config_sections[i].name), &config_sections[i]);
    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];

        assert_row(k->name, config_key_find(config_key_section(k), k->name) == k);
    }
}

/* No member is written by two keys, and none beyond its struct. */
static void every_member_is_there_once(void unused **state)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];

        assert_row(k->name, k->offset < config_key_section(k)->size);
        for (size_t j = 0; j < i; j++)
            assert_row(k->name, config_keys[j].section != k->section || config_keys[j].offset != k->offset);
    }
}

static void every_key_is_explained(void unused **state)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];
        _cleanup_free_ char *expectation = config_key_expectation(k);

        assert_row(k->name, strlen(k->text) > 10 && str_ends_with(k->text, "."));
        assert_row(k->name, !str_empty(expectation));
        assert_row(k->name, (k->type == CONFIG_CHOICE) <= (k->choices != NULL));
        assert_row(k->name, !k->required || !k->default_text);
    }
}

/* A default is a value like any other: within its range, and without it the zero of its type. */
static void every_default_is_valid(void unused **state)
{
    for (size_t i = 0; i < n_config_keys; i++) {
        const struct config_key *k = &config_keys[i];
        union {
            char *text;
            char **words;
            uint64_t number;
            double real;
            bool yes;
        } field = {};

        assert_row(k->name, config_value_default(k, &field) == 0);
        if (k->default_text)
            assert_row(k->name, config_value_is_set(k, &field));
        else
            assert_row(k->name, !config_value_is_set(k, &field));
        config_value_release(k, &field);
    }
}

static void tells_what_is_expected(void unused **state)
{
    static const struct {
        enum config_section_id section;
        const char *key, *expected;
    } rows[] = {
        {SECTION_RESTART, "Mode", "in-place or exit"},
        {SECTION_CLASS, "Retry", "never, backoff, slow or after-cleanup"},
        {SECTION_START, "ProbeSec", "a time span such as 500ms, 30s, 10min or 1h 30min, from 10ms to 1s"},
        {SECTION_SERVER, "StopSec", "a time span such as 500ms, 30s, 10min or 1h 30min, or infinity"},
        {SECTION_RESTART, "Budget", "a whole number, from 0 to 1000"},
        {SECTION_REPORT, "MaxBytes", "a size such as 512K, 64M or 1G, from 1M to 1T"},
        {SECTION_CANARY, "TopP", "a number, from 0 to 1"},
        {SECTION_START, "Preflight", "yes or no"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_key *k = config_key_find(&config_sections[rows[i].section], rows[i].key);
        _cleanup_free_ char *text = NULL;

        assert_row(rows[i].key, k != NULL);
        text = config_key_expectation(k);
        assert_string_equal(text, rows[i].expected);
    }
}

static void finds_what_was_meant(void unused **state)
{
    static const struct {
        enum config_section_id section;
        const char *written, *meant_section, *meant_key; /* NULL: nothing is near */
    } rows[] = {
        {SECTION_START, "StallSecs", "Start", "StallSec"},
        {SECTION_START, "stallsec", "Start", "StallSec"},
        {SECTION_START, "StalSec", "Start", "StallSec"},
        {SECTION_START, "Stall", "Start", "StallSec"},
        {SECTION_LIVE, "StallSec", "Start", "StallSec"},
        {SECTION_START, "BackoffSec", "Restart", "BackoffSec"},
        {SECTION_CANARY, "TimeoutSec", "Canary", "TimeoutSec"},
        {SECTION_LIVE, "Timeout", "Live", "TimeoutSec"},
        {SECTION_SERVER, "Url", "Server", "URL"},
        {SECTION_SERVER, "Comand", "Server", "Command"},
        {SECTION_SERVER, "Restart", NULL, NULL},
        {SECTION_SERVER, "", NULL, NULL},
        {SECTION_SERVER, "St", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_key *k = config_key_nearest(&config_sections[rows[i].section], rows[i].written);

        assert_row(rows[i].written, (k != NULL) == (rows[i].meant_key != NULL));
        if (k) {
            assert_string_equal(config_key_section(k)->name, rows[i].meant_section);
            assert_string_equal(k->name, rows[i].meant_key);
        }
    }
}

static void finds_the_section_that_was_meant(void unused **state)
{
    static const struct {
        const char *written, *meant;
    } rows[] = {
        {"Sever", "Server"}, {"server", "Server"}, {"Lve", "Live"}, {"http", "HTTP"}, {"Reports", "Report"},
        {"Unit", NULL},      {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_section *s = config_section_nearest(rows[i].written);

        assert_row(rows[i].written, (s != NULL) == (rows[i].meant != NULL));
        if (s)
            assert_string_equal(s->name, rows[i].meant);
    }
}

static void writes_spans_and_sizes(void unused **state)
{
    static const struct {
        void (*write)(struct strbuf *, uint64_t);
        uint64_t value;
        const char *expected;
    } rows[] = {
        {config_text_timespan, 0, "0"},
        {config_text_timespan, 1, "1us"},
        {config_text_timespan, 250 * USEC_PER_MSEC, "250ms"},
        {config_text_timespan, 90 * USEC_PER_SEC, "1min 30s"},
        {config_text_timespan, 25 * USEC_PER_HOUR + 1, "1d 1h 1us"},
        {config_text_timespan, USEC_INFINITY, "infinity"},
        {config_text_size, 0, "0"},
        {config_text_size, 1000, "1000"},
        {config_text_size, 1024, "1K"},
        {config_text_size, UINT64_C(64) << 20, "64M"},
        {config_text_size, UINT64_C(3) << 50, "3P"},
        {config_text_size, UINT64_C(1) << 63, "8192P"},
        {config_text_size, UINT64_MAX, "infinity"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strbuf_ struct strbuf b = {};

        rows[i].write(&b, rows[i].value);
        assert_string_equal(b.data, rows[i].expected);
    }
}

static void writes_reals(void unused **state)
{
    static const struct {
        double value;
        const char *expected;
    } rows[] = {
        {0, "0"}, {1, "1"}, {0.6, "0.6"}, {0.95, "0.95"}, {-1, "-1"}, {0.1 + 0.2, "0.30000000000000004"},
        {1e-7, "0.0000001"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_strbuf_ struct strbuf b = {};

        config_text_real(&b, rows[i].value);
        assert_string_equal(b.data, rows[i].expected);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_there_once),
        cmocka_unit_test(every_member_is_there_once),
        cmocka_unit_test(every_key_is_explained),
        cmocka_unit_test(every_default_is_valid),
        cmocka_unit_test(tells_what_is_expected),
        cmocka_unit_test(finds_what_was_meant),
        cmocka_unit_test(finds_the_section_that_was_meant),
        cmocka_unit_test(writes_spans_and_sizes),
        cmocka_unit_test(writes_reals),
    };

    return cmocka_run_group_tests_name("config key", tests, NULL, NULL);
}
