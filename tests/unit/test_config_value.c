/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <signal.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/config_builder.h"
#include "core/config/config_value.h"

static const struct specifiers specifiers = {.instance = "k26", .data_dir = "/usr/share/coalmine"};

/* A key of that type, for types whose range no row of the table narrows. */
static struct config_key key_of(enum config_type type)
{
    static const char *const choices[] = {"red", "green", NULL};

    return (struct config_key){
        .name = "Key",
        .type = type,
        .min = 2,
        .max = type == CONFIG_TIMESPAN ? 10 * USEC_PER_SEC : 1000000,
        .real_min = 0,
        .real_max = 2,
        .choices = type == CONFIG_CHOICE || type == CONFIG_WORD ? choices : NULL,
    };
}

static int set(const struct config_key *k, const char *text, void *field, struct strbuf *why)
{
    const struct config_input in = {.key = k, .text = text, .specifiers = &specifiers, .why = why};

    return config_value_set(&in, field);
}

static void text_values(void unused **state)
{
    static const struct {
        enum config_type type;
        const char *text, *expected; /* NULL: refused */
        const char *why;             /* part of the reason, NULL: none beyond the expectation */
    } rows[] = {
        {CONFIG_STRING, "any \"thing\" %d \\", "any \"thing\" %d \\", NULL},
        {CONFIG_NAME, "a-B_3.x", "a-B_3.x", NULL},
        {CONFIG_NAME, ".hidden", NULL, NULL},
        {CONFIG_NAME, "a/b", NULL, NULL},
        {CONFIG_NAME, "a b", NULL, NULL},
        {CONFIG_NAME, "caf\xc3\xa9", NULL, NULL},
        {CONFIG_NAME, "0123456789012345678901234567890123456789012345678901234567890123",
         "0123456789012345678901234567890123456789012345678901234567890123", NULL},
        {CONFIG_NAME, "01234567890123456789012345678901234567890123456789012345678901234", NULL, NULL},
        {CONFIG_WORD, "green", "green", NULL},
        {CONFIG_WORD, "Green", NULL, NULL},
        {CONFIG_LIMIT, "infinity", "infinity", NULL},
        {CONFIG_LIMIT, "17", "17", NULL},
        {CONFIG_LIMIT, "-1", NULL, NULL},
        {CONFIG_LIMIT, "never", NULL, NULL},
        {CONFIG_PATH, "/etc/%i.key", "/etc/k26.key", NULL},
        {CONFIG_PATH, "%D/x", "/usr/share/coalmine/x", NULL},
        {CONFIG_PATH, "etc", NULL, NULL},
        {CONFIG_PATH, "/a/%z", NULL, "unknown specifier %z"},
        {CONFIG_PATH, "/a/%p", NULL, "unknown specifier %p"},
        {CONFIG_PATH, "/a%", NULL, "a % at the end"},
        {CONFIG_URL, "http://127.0.0.1:30001", "http://127.0.0.1:30001", NULL},
        {CONFIG_URL, "http://localhost:8000/", "http://localhost:8000", NULL},
        {CONFIG_URL, "https://gpu-1.example", "https://gpu-1.example:443", NULL},
        {CONFIG_URL, "http://gpu_1", "http://gpu_1:80", NULL},
        {CONFIG_URL, "http://[::1]:8000", "http://[::1]:8000", NULL},
        {CONFIG_URL, "http://[fe80::1]", "http://[fe80::1]:80", NULL},
        {CONFIG_URL, "http://h:00080", "http://h:80", NULL},
        {CONFIG_URL, "unix:/run/k26.sock", "unix:/run/k26.sock", NULL},
        {CONFIG_URL, "unix:run/k26.sock", NULL, "no absolute path of a socket"},
        {CONFIG_URL, "unix:/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
                     "5678901234567890123456", NULL, "too long"},
        {CONFIG_JSON, " {\"a\": [1]} ", " {\"a\": [1]} ", NULL},
        {CONFIG_JSON, "[1]", NULL, NULL},
        {CONFIG_JSON, "{", NULL, "expected near end of file"},
        {CONFIG_JSON, "{\"a\": 1, \"a\": 2}", NULL, "duplicate object key"},
        {CONFIG_URL, "ftp://h:1", NULL, "neither http:// nor https://"},
        {CONFIG_URL, "localhost:8000", NULL, "neither http:// nor https://"},
        {CONFIG_URL, "HTTP://h", NULL, "neither http:// nor https://"},
        {CONFIG_URL, "http://", NULL, "no host"},
        {CONFIG_URL, "http://:80", NULL, "no host"},
        {CONFIG_URL, "http://a b", NULL, "no host"},
        {CONFIG_URL, "http://h:0", NULL, "the port is no number from 1 to 65535"},
        {CONFIG_URL, "http://h:65536", NULL, "the port is no number from 1 to 65535"},
        {CONFIG_URL, "http://h:", NULL, "the port is no number from 1 to 65535"},
        {CONFIG_URL, "http://h:8x", NULL, "the port is no number from 1 to 65535"},
        {CONFIG_URL, "http://h:80/v1", NULL, "canaries have a Path= of their own"},
        {CONFIG_URL, "http://h:80?x", NULL, "canaries have a Path= of their own"},
        {CONFIG_URL, "http://h:80//", NULL, "canaries have a Path= of their own"},
        {CONFIG_URL, "http://user:pw@h:80", NULL, "Server.APIKeyFile= names a file with the key"},
        {CONFIG_URL, "http://h:80/?k=a@b", NULL, "Server.APIKeyFile= names a file with the key"},
        {CONFIG_URL, "http://::1:80", NULL, "needs brackets"},
        {CONFIG_URL, "http://[::1:80", NULL, "the bracket is not closed"},
        {CONFIG_URL, "http://[::1]80", NULL, "the bracket is not closed"},
        {CONFIG_URL, "http://[h]:80", NULL, "no IPv6 address between the brackets"},
        {CONFIG_URL_PATH, "/v1/models?x=%20y", "/v1/models?x=%20y", NULL},
        {CONFIG_URL_PATH, "v1", NULL, NULL},
        {CONFIG_URL_PATH, "/a b", NULL, "characters that a URL cannot have"},
        {CONFIG_URL_PATH, "/a#b", NULL, "characters that a URL cannot have"},
        {CONFIG_URL_PATH, "/\xc3\xa9", NULL, "characters that a URL cannot have"},
        {CONFIG_LISTEN, "127.0.0.1:9100", "127.0.0.1:9100", NULL},
        {CONFIG_LISTEN, "[::1]:9100", "[::1]:9100", NULL},
        {CONFIG_LISTEN, "[::]:1", "[::]:1", NULL},
        {CONFIG_LISTEN, "127.0.0.1", NULL, "the port is no number"},
        {CONFIG_LISTEN, "9100", NULL, "no numeric address"},
        {CONFIG_LISTEN, ":9100", NULL, "no numeric address"},
        {CONFIG_LISTEN, "localhost:9100", NULL, "no numeric address"},
        {CONFIG_LISTEN, "::1:9100", NULL, "needs brackets"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_key k = key_of(rows[i].type);
        _cleanup_strbuf_ struct strbuf why = {};
        char *field = strdup("before");
        int r = set(&k, rows[i].text, &field, &why);

        assert_row(rows[i].text, r == (rows[i].expected ? 0 : -EINVAL));
        assert_string_equal(field, rows[i].expected ? rows[i].expected : "before");
        assert_row(rows[i].text, str_empty(why.data) == !rows[i].why);
        if (rows[i].why)
            assert_row(why.data, strstr(why.data, rows[i].why) != NULL);
        config_value_release(&k, &field);
    }
}

static void word_values(void unused **state)
{
    static const struct {
        enum config_type type;
        const char *before, *text, *expected, *why;
    } rows[] = {
        {CONFIG_COMMAND, "old", "/bin/a 'b c' %i %% $X", "/bin/a|b c|k26|%|$X", NULL},
        {CONFIG_COMMAND, "old", "python3 -m x", "python3|-m|x", NULL},
        {CONFIG_COMMAND, "old", "./a b", NULL, "a relative path"},
        {CONFIG_COMMAND, "old", "-/bin/a", NULL, "the prefixes of ExecStart="},
        {CONFIG_COMMAND, "old", "@/bin/a b", NULL, "the prefixes of ExecStart="},
        {CONFIG_COMMAND, "old", "\"\" b", NULL, "the program's name is empty"},
        {CONFIG_COMMAND, "old", "/bin/a \"b", NULL, "a quote that is not closed"},
        {CONFIG_COMMAND, "old", "/bin/a %n", NULL, "unknown specifier %n"},
        {CONFIG_ENVIRONMENT, NULL, "A=1 \"B=2 3\" C=", "A=1|B=2 3|C=", NULL},
        {CONFIG_ENVIRONMENT, "A=1", "B=%i A=2", "A=2|B=k26", NULL},
        {CONFIG_ENVIRONMENT, "AB=1", "A=2", "AB=1|A=2", NULL},
        {CONFIG_ENVIRONMENT, "A=1", "A=2 A=3", "A=3", NULL},
        {CONFIG_ENVIRONMENT, "A=1", "B", NULL, "\"B\" is no assignment"},
        {CONFIG_ENVIRONMENT, "A=1", "B=2 =3", NULL, "\"=3\" is no assignment"},
        {CONFIG_ENVIRONMENT, "A=1", "9B=2", NULL, "\"9B=2\" is no assignment"},
        {CONFIG_ENVIRONMENT, "A=1", "B-C=2", NULL, "\"B-C=2\" is no assignment"},
        {CONFIG_NAMES, NULL, "greedy  sampled\tgreedy", "greedy|sampled", NULL},
        {CONFIG_NAMES, "greedy", "long greedy", "greedy|long", NULL},
        {CONFIG_NAMES, "greedy", "long a/b", NULL, "\"a/b\" is no name"},
        {CONFIG_METRICS, "a", "vllm:x_total  _b a", "a|vllm:x_total|_b", NULL},
        {CONFIG_METRICS, "a", "9x", NULL, "\"9x\" is no name"},
        {CONFIG_METRICS, "a", "x{y}", NULL, "\"x{y}\" is no name"},
        {CONFIG_DIRECTORIES, NULL, "/a ~/.b/c $D $D/e", "/a|~/.b/c|$D|$D/e", NULL},
        {CONFIG_DIRECTORIES, "/a", "a/b", NULL, "\"a/b\" is no directory"},
        {CONFIG_DIRECTORIES, "/a", "//", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "~/", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "~root/x", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "$", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "$D.x", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "/b/../c", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "~/..", NULL, "is no directory"},
        {CONFIG_DIRECTORIES, "/a", "/..b /c.. /d/...", "/a|/..b|/c..|/d/...", NULL},
        {CONFIG_PROGRAMS, "nvcc", "cudafe++ nvcc 123456789012345", "nvcc|cudafe++|123456789012345", NULL},
        {CONFIG_PROGRAMS, "nvcc", "1234567890123456", NULL, "is no name of a program"},
        {CONFIG_PROGRAMS, "nvcc", "bin/cc", NULL, "is no name of a program"},
        {CONFIG_HEADERS, "A: b", "X-Key_2: \"c\", d", "A: b|X-Key_2: \"c\", d", NULL},
        {CONFIG_HEADERS, "A: b", "no colon", NULL, "no name in front of a colon"},
        {CONFIG_HEADERS, "A: b", ": c", NULL, "no name in front of a colon"},
        {CONFIG_HEADERS, "A: b", "authorization: c", NULL, "a key does not belong"},
        {CONFIG_HEADERS, "A: b", "X: c\001d", NULL, "a control character"},
        {CONFIG_PATTERNS, NULL, "^a\\s+b", "^a\\s+b", NULL},
        {CONFIG_PATTERNS, "x", "\"y\"", "x|\"y\"", NULL},
        {CONFIG_PATTERNS, "x", "(", NULL, "at"},
        {CONFIG_PATTERNS, "x", "a*", NULL, "empty"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_key k = key_of(rows[i].type);
        _cleanup_strbuf_ struct strbuf why = {};
        _cleanup_free_ char *text = NULL;
        char **field = NULL;
        int r;

        if (rows[i].before)
            assert_int_equal(strv_push(&field, rows[i].before), 0);
        r = set(&k, rows[i].text, &field, &why);
        assert_row(rows[i].text, r == (rows[i].expected ? 0 : -EINVAL));
        text = strv_join(field, "|");
        assert_string_equal(text, rows[i].expected ? rows[i].expected : rows[i].before);
        assert_row(rows[i].text, str_empty(why.data) == !rows[i].why);
        if (rows[i].why)
            assert_row(why.data, strstr(why.data, rows[i].why) != NULL);
        config_value_release(&k, &field);
        assert_null(field);
    }
}

static void numbers(void unused **state)
{
    static const struct {
        enum config_type type;
        const char *text;
        int result;
        uint64_t expected;
    } rows[] = {
        {CONFIG_UINT, "2", 0, 2},
        {CONFIG_UINT, "1000000", 0, 1000000},
        {CONFIG_UINT, "1", -ERANGE, 0},
        {CONFIG_UINT, "1000001", -ERANGE, 0},
        {CONFIG_UINT, "99999999999999999999", -ERANGE, 0},
        {CONFIG_UINT, "-3", -EINVAL, 0},
        {CONFIG_UINT, "3.5", -EINVAL, 0},
        {CONFIG_SIZE, "3K", 0, 3072},
        {CONFIG_SIZE, "1M", -ERANGE, 0},
        {CONFIG_SIZE, "infinity", -ERANGE, 0},
        {CONFIG_SIZE, "3 parsecs", -EINVAL, 0},
        {CONFIG_TIMESPAN, "10", 0, 10 * USEC_PER_SEC},
        {CONFIG_TIMESPAN, "1s 500ms", 0, 1500 * USEC_PER_MSEC},
        {CONFIG_TIMESPAN, "1us", -ERANGE, 0},
        {CONFIG_TIMESPAN, "10001ms", -ERANGE, 0},
        {CONFIG_TIMESPAN, "infinity", -ERANGE, 0},
        {CONFIG_TIMESPAN, "ten", -EINVAL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_key k = key_of(rows[i].type);
        _cleanup_strbuf_ struct strbuf why = {};
        uint64_t field = 12345;

        assert_row(rows[i].text, set(&k, rows[i].text, &field, &why) == rows[i].result);
        assert_row(rows[i].text, field == (rows[i].result == 0 ? rows[i].expected : 12345));
    }
}

static void other_values(void unused **state)
{
    const struct config_key real = key_of(CONFIG_REAL), boolean = key_of(CONFIG_BOOL);
    const struct config_key signo = key_of(CONFIG_SIGNAL), choice = key_of(CONFIG_CHOICE);
    _cleanup_strbuf_ struct strbuf why = {};
    unsigned chosen = 7;
    double number = 7;
    bool yes = false;
    int n = 0;

    assert_int_equal(set(&real, "0.95", &number, &why), 0);
    assert_true(number > 0.9499 && number < 0.9501);
    assert_int_equal(set(&real, "2", &number, &why), 0);
    assert_int_equal(set(&real, "2.1", &number, &why), -ERANGE);
    assert_int_equal(set(&real, "-0.1", &number, &why), -ERANGE);
    assert_int_equal(set(&real, "nan", &number, &why), -EINVAL);
    assert_true(number > 1.99 && number < 2.01);
    assert_int_equal(set(&boolean, "on", &yes, &why), 0);
    assert_true(yes);
    assert_int_equal(set(&boolean, "maybe", &yes, &why), -EINVAL);
    assert_int_equal(set(&signo, "SIGINT", &n, &why), 0);
    assert_int_equal(n, SIGINT);
    assert_int_equal(set(&signo, "SIGNONE", &n, &why), -EINVAL);
    assert_int_equal(set(&choice, "green", &chosen, &why), 0);
    assert_int_equal(chosen, 1);
    assert_int_equal(set(&choice, "blue", &chosen, &why), -EINVAL);
    assert_int_equal(chosen, 1);
    assert_true(str_empty(why.data));
}

static void empty_takes_back(void unused **state)
{
    struct config_key span = key_of(CONFIG_TIMESPAN), text = key_of(CONFIG_STRING);
    struct config_key names = key_of(CONFIG_NAMES);
    _cleanup_strbuf_ struct strbuf why = {};
    usec_t usec = 7;
    char *s = NULL, **v = NULL;

    span.default_text = "5s";
    names.default_text = "greedy";
    assert_int_equal(set(&span, "", &usec, &why), 0);
    assert_int_equal(usec, 5 * USEC_PER_SEC);
    assert_int_equal(set(&text, "x", &s, &why), 0);
    assert_int_equal(set(&text, "", &s, &why), 0);
    assert_null(s);
    assert_int_equal(config_value_default(&names, &v), 0);
    assert_int_equal(strv_length(v), 1);
    assert_int_equal(set(&names, "", &v, &why), 0);
    assert_null(v);
}

static void lists_are_bounded(void unused **state)
{
    static const struct {
        enum config_type type;
        const char *suffix;
    } rows[] = {{CONFIG_NAMES, ""}, {CONFIG_ENVIRONMENT, "=x"}, {CONFIG_PATTERNS, "$"},
                {CONFIG_METRICS, ""}, {CONFIG_HEADERS, ": x"}, {CONFIG_PROGRAMS, ""}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct config_key k = key_of(rows[i].type);
        _cleanup_strbuf_ struct strbuf why = {};
        char **field = NULL;
        unsigned n = 0;
        int r = 0;

        for (; r == 0; n++) {
            char item[32];

            (void) snprintf(item, sizeof(item), "N%u%s", n, rows[i].suffix);
            r = set(&k, item, &field, &why);
        }
        assert_int_equal(r, -EINVAL);
        assert_row(rows[i].suffix, strstr(why.data, "too many") != NULL);
        assert_int_equal(strv_length(field), CONFIG_MAX_ITEMS);
        strv_free(field);
    }
}

static void literal_words_are_not_interpreted(void unused **state)
{
    static const char *const words[] = {"./a", "%i", "\"b", "\\x", NULL};
    const struct config_key k = key_of(CONFIG_COMMAND);
    _cleanup_strbuf_ struct strbuf why = {};
    struct config_input in = {
        .key = &k,
        .text = "",
        .words = (char *const *) (uintptr_t) words,
        .specifiers = &specifiers,
        .why = &why,
    };
    _cleanup_strv_ char **field = NULL;

    assert_int_equal(config_value_set(&in, &field), 0);
    assert_int_equal(strv_length(field), 4);
    for (size_t i = 0; words[i]; i++)
        assert_string_equal(field[i], words[i]);
}

static int set_each(void *data)
{
    static const struct {
        enum config_type type;
        const char *text;
    } rows[] = {
        {CONFIG_STRING, "x"}, {CONFIG_PATH, "/%i"}, {CONFIG_URL, "http://h"}, {CONFIG_LISTEN, "[::1]:1"},
        {CONFIG_COMMAND, "/a 'b' %i"}, {CONFIG_ENVIRONMENT, "A=1 B=2 A=3"}, {CONFIG_NAMES, "a b c"},
        {CONFIG_PATTERNS, "a(?<b>c)"}, {CONFIG_METRICS, "a:b c"}, {CONFIG_HEADERS, "a: b"},
        {CONFIG_DIRECTORIES, "/a ~/b $C"}, {CONFIG_PROGRAMS, "cc1plus g++"},
    };
    int r = 0;

    (void) data;
    for (size_t i = 0; i < ARRAY_SIZE(rows) && r == 0; i++) {
        const struct config_key k = key_of(rows[i].type);
        _cleanup_strbuf_ struct strbuf why = {};
        void *field = NULL;

        r = set(&k, rows[i].text, &field, &why);
        config_value_release(&k, &field);
    }
    return r;
}

static void survives_lack_of_memory(void unused **state)
{
    assert_true(chaos_each(set_each, NULL) > 20);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_values),
        cmocka_unit_test(word_values),
        cmocka_unit_test(numbers),
        cmocka_unit_test(other_values),
        cmocka_unit_test(empty_takes_back),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(literal_words_are_not_interpreted),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("config value", tests, NULL, NULL);
}
