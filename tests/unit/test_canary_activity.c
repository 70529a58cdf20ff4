/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <jansson.h>

#include "base/str.h"
#include "chaos.h"
#include "core/canary/activity.h"

static char progress_a[] = "llm:tokens_total", progress_b[] = "llm:done_total", running_a[] = "llm:running",
            running_b[] = "llm:waiting";
static char *progress[] = {progress_a, progress_b, NULL}, *running[] = {running_a, running_b, NULL};
static const struct live_config live = {.progress_metrics = progress, .running_metrics = running};

static int look_at(const char *page, size_t n, size_t step, struct activity *ret)
{
    _cleanup_(activity_reader_freep) struct activity_reader *r = NULL;
    int error = activity_reader_new(&live, &r);

    for (size_t i = 0; error == 0 && i < n; i += step)
        error = activity_reader_feed(r, page + i, MIN(step, n - i));
    return error < 0 ? error : activity_reader_end(r, ret);
}

static struct activity look(const char *page)
{
    struct activity a = {}, cut = {};

    assert_int_equal(look_at(page, strlen(page), strlen(page) + 1, &a), 0);
    assert_int_equal(look_at(page, strlen(page), 3, &cut), 0);
    assert_true(a.known == cut.known && a.mark == cut.mark);
    return a;
}

#define HEAD "# HELP llm:tokens_total Tokens.\n# TYPE llm:tokens_total counter\n"

static void comparisons(void unused **state)
{
    static const struct {
        const char *name, *before, *now;
        enum motion motion;
    } rows[] = {
        {"tokens", HEAD "llm:tokens_total{model=\"m\"} 5\n", HEAD "llm:tokens_total{model=\"m\"} 6\n",
         MOTION_WORKING},
        {"requests", "llm:done_total 5\n", "llm:done_total 6\n", MOTION_WORKING},
        {"several series", "llm:tokens_total{a=\"1\"} 5\nllm:tokens_total{a=\"2\"} 5\n",
         "llm:tokens_total{a=\"1\"} 5\nllm:tokens_total{a=\"2\"} 6\n", MOTION_WORKING},
        {"idle", "llm:tokens_total 5\nllm:running 0.0\n", "llm:tokens_total 5\nllm:running 0.0\n", MOTION_IDLE},
        {"stuck", "llm:tokens_total 5\n", "llm:tokens_total 5\nllm:running 1.0\n", MOTION_STUCK},
        {"queue", "llm:tokens_total 5\n", "llm:tokens_total 5\nllm:running 0\nllm:waiting 2\n", MOTION_STUCK},
        {"exponents and times", "llm:tokens_total 1.5e+06 1700000000\n", "llm:tokens_total 1.6e+06 1700000001",
         MOTION_WORKING},
        {"odd labels", "llm:tokens_total{a=\"} 7 \\\" {\",b=\"\"} 5\n",
         "llm:tokens_total{a=\"} 7 \\\" {\",b=\"\"} 5\nllm:running 1\n", MOTION_STUCK},
        {"no such metric", "other 5\n", "other 6\n", MOTION_UNKNOWN},
        {"its beginning only", "llm:tokens_total_more 5\n", "llm:tokens_total_more 6\n", MOTION_UNKNOWN},
        {"no number", "llm:tokens_total NaN\n", "llm:tokens_total +Inf\n", MOTION_UNKNOWN},
        {"garbage", "llm:tokens_total{\nllm:done_total\n{} 5\n\n", "llm:tokens_total 5x\n", MOTION_UNKNOWN},
        {"came up later", "other 1\n", "llm:tokens_total 5\n", MOTION_UNKNOWN},
        {"nothing", "", "", MOTION_UNKNOWN},
        {"decoding slot", "[{\"id\":0,\"is_processing\":true,\"id_task\":3,\"next_token\":{\"n_decoded\":1}}]",
         "[{\"id\":0,\"is_processing\":true,\"id_task\":3,\"next_token\":{\"n_decoded\":2}}]", MOTION_WORKING},
        {"prompt", "[{\"is_processing\":true,\"id_task\":3,\"n_prompt_tokens_processed\":64}]",
         "[{\"is_processing\":true,\"id_task\":3,\"n_prompt_tokens_processed\":128}]", MOTION_WORKING},
        {"another task", "[{\"is_processing\":true,\"id_task\":3,\"next_token\":[{\"n_decoded\":1}]}]",
         "[{\"is_processing\":true,\"id_task\":4,\"next_token\":[{\"n_decoded\":1}]}]", MOTION_WORKING},
        {"stuck slot", "[{\"is_processing\":true,\"id_task\":3}]", "[{\"is_processing\":true,\"id_task\":3}]",
         MOTION_STUCK},
        {"idle slots", "[{\"is_processing\":false,\"id_task\":3}]", "[{\"is_processing\":false,\"id_task\":3}]",
         MOTION_IDLE},
        {"old slots", "[{\"state\":1,\"n_decoded\":1}]", "[{\"state\":1,\"n_decoded\":2}]", MOTION_WORKING},
        {"no slots", "[]", "[]", MOTION_UNKNOWN},
        {"broken slots", "[{", "[{", MOTION_UNKNOWN},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct activity before = look(rows[i].before), now = look(rows[i].now);

        assert_row(rows[i].name, activity_compare(&before, &now) == rows[i].motion);
        assert_false(str_empty(motion_text(rows[i].motion)));
    }
}

static char *long_page(const char *piece, size_t n, const char *tail)
{
    struct strbuf b = {};

    while (b.len < n)
        strbuf_append(&b, piece);
    strbuf_append(&b, tail);
    return strbuf_steal(&b);
}

static void pages_are_bounded(void unused **state)
{
    _cleanup_free_ char *line = long_page("x", 100000, "\nllm:tokens_total 5\n");
    _cleanup_free_ char *page = long_page("a{b=\"c\"} 1\n", 9 << 20, "");
    _cleanup_free_ char *slots = long_page("[", 300000, "");
    struct activity a = look(line);

    assert_true(a.known);
    assert_int_equal(look_at(page, strlen(page), 1000, &a), -EMSGSIZE);
    assert_int_equal(look_at(slots, strlen(slots), 1000, &a), -EMSGSIZE);
}

static int look_once(void *data)
{
    struct activity a = {};

    return look_at(data, strlen(data), 4, &a);
}

static void survives_lack_of_memory(void unused **state)
{
    static char metrics[] = "llm:tokens_total{a=\"b\"} 5\n", slots[] = "[{\"id\":1}]";

    json_set_alloc_funcs(chaos_malloc, free);
    chaos_each(look_once, metrics);
    chaos_each(look_once, slots);
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons),
        cmocka_unit_test(pages_are_bounded),
        cmocka_unit_test(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("canary activity", tests, NULL, NULL);
}
