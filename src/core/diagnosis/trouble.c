/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/trouble.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define LINE_MAX_BYTES ((size_t) 300)

static unsigned score_of(const char *text)
{
    static const struct {
        const char *word;
        unsigned score;
    } words[] = {
        {"error", 3},      {"exception", 3}, {"fatal", 4},     {"failed", 2},       {"failure", 2},
        {"cannot", 2},     {"could not", 2}, {"unable to", 2}, {"not found", 2},    {"no such", 3},
        {"denied", 3},     {"abort", 3},     {"assert", 3},    {"panic", 4},        {"killed", 3},
        {"segmentation", 4}, {"core dumped", 4}, {"undefined", 2}, {"unsupported", 2}, {"invalid", 2},
        {"out of memory", 3}, {"timed out", 2}, {"timeout", 1}, {"refused", 2},     {"mismatch", 2},
        {"exit code", 2},  {"exited with", 2}, {"terminate called", 4}, {"what():", 4},
    };
    unsigned score = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        score += strcasestr(text, words[i].word) ? words[i].score : 0;
    return score;
}

static bool is_known(const struct trouble *t, const char *line)
{
    return strv_contains(t->lines, line);
}

/* Equal scores stay in the order in which they came: the first is nearer to the cause. */
int trouble_consider(struct trouble *t, const char *text)
{
    unsigned score = score_of(text);
    _cleanup_free_ char *line = NULL;
    size_t at = TROUBLE_MAX;

    while (at > 0 && t->scores[at - 1] < score)
        at--;
    if (score == 0 || at == TROUBLE_MAX)
        return 0;
    line = strndup(text, utf8_cut(text, strlen(text), LINE_MAX_BYTES));
    if (!line)
        return -ENOMEM;
    if (is_known(t, line))
        return 0;
    free(t->lines[TROUBLE_MAX - 1]);
    memmove(&t->lines[at + 1], &t->lines[at], (TROUBLE_MAX - 1 - at) * sizeof(*t->lines));
    memmove(&t->scores[at + 1], &t->scores[at], (TROUBLE_MAX - 1 - at) * sizeof(*t->scores));
    t->lines[at] = steal_pointer(&line);
    t->scores[at] = score;
    return 0;
}

void trouble_release(struct trouble *t)
{
    for (size_t i = 0; i < TROUBLE_MAX; i++)
        free(t->lines[i]);
    *t = (struct trouble){};
}
