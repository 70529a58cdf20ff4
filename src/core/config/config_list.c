/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "core/config/config_builder.h"
#include "core/config/config_value.h"
#include "core/config/directories.h"
#include "core/config/problems.h"
#include "core/diagnosis/pattern.h"

#define METRIC_MAX_BYTES 200
#define PROGRAM_MAX_BYTES 15

static int split_and_expand(const struct config_input *in, char ***ret)
{
    _cleanup_strv_ char **words = NULL;
    const char *why = NULL;
    char bad = '\0';
    int r;

    r = words_split(in->text, &words, &why);
    if (r == -EINVAL)
        strbuf_append(in->why, why);
    if (r < 0)
        return r;
    r = specifiers_expand_words(words, in->specifiers, &bad);
    if (r == -EINVAL)
        config_explain_specifier(in->why, bad);
    if (r < 0)
        return r;
    *ret = steal_pointer(&words);
    return 0;
}

static void replace_vector(char ***field, char ***value)
{
    strv_free(*field);
    *field = steal_pointer(value);
}

static int explain(const struct config_input *in, const char *what)
{
    strbuf_append(in->why, what);
    return -EINVAL;
}

/* People copy ExecStart= lines, whose prefixes would end in a puzzling "no such file". */
static int check_program(const struct config_input *in, const char *program)
{
    if (str_empty(program))
        return explain(in, "the program's name is empty");
    if (strchr("@-:+!|", program[0]))
        return explain(in, "the prefixes of ExecStart= have no meaning here");
    if (program[0] != '/' && strchr(program, '/'))
        return explain(in, "a relative path");
    return 0;
}

int config_parse_command(const struct config_input *in, char ***field)
{
    _cleanup_strv_ char **words = NULL;
    int r;

    if (in->words)
        r = strv_copy(in->words, &words);
    else
        r = split_and_expand(in, &words);
    if (r < 0)
        return r;
    /* What the caller's shell or unit has made of a command line is none of our business. */
    if (!in->words)
        r = check_program(in, words[0]);
    if (r < 0)
        return r;
    replace_vector(field, &words);
    return 0;
}

static bool is_variable_name(const char *s, size_t n)
{
    if (n == 0 || (*s >= '0' && *s <= '9'))
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") >= n;
}

static int explain_quoted(const struct config_input *in, const char *quoted, const char *what)
{
    _cleanup_free_ char *shown = problems_quote(quoted);

    if (!shown)
        return -ENOMEM;
    strbuf_appendf(in->why, "\"%s\" %s", shown, what);
    return -EINVAL;
}

/* A later value of the same variable takes the place of the earlier one. */
static int merge_variable(const struct config_input *in, char ***list, const char *assignment)
{
    const char *equals = strchr(assignment, '=');

    if (!equals || !is_variable_name(assignment, (size_t) (equals - assignment)))
        return explain_quoted(in, assignment, "is no assignment");
    for (size_t i = 0; *list && (*list)[i]; i++) {
        if (strncmp((*list)[i], assignment, (size_t) (equals + 1 - assignment)) == 0)
            return str_replace(&(*list)[i], assignment);
    }
    if (strv_length(*list) >= CONFIG_MAX_ITEMS)
        return explain(in, "too many variables");
    return strv_push(list, assignment);
}

int config_parse_environment(const struct config_input *in, char ***field)
{
    _cleanup_strv_ char **words = NULL, **list = NULL;
    int r;

    r = split_and_expand(in, &words);
    if (r < 0)
        return r;
    r = strv_copy(*field, &list);
    for (size_t i = 0; r >= 0 && words && words[i]; i++)
        r = merge_variable(in, &list, words[i]);
    if (r < 0)
        return r;
    replace_vector(field, &list);
    return 0;
}

/* What the words of a list may be. */
struct word_kind {
    bool (*is)(const char *word);
    const char *wrong; /* what is said of a word that is none */
};

static int add_word(const struct config_input *in, const struct word_kind *kind, char ***list,
                    const char *word)
{
    if (!kind->is(word))
        return explain_quoted(in, word, kind->wrong);
    if (strv_contains(*list, word))
        return 0;
    if (strv_length(*list) >= CONFIG_MAX_ITEMS)
        return explain(in, "too many names");
    return strv_push(list, word);
}

static int parse_words(const struct config_input *in, const struct word_kind *kind, char ***field)
{
    _cleanup_strv_ char **words = NULL, **list = NULL;
    int r;

    r = strv_split(in->text, " \t", &words);
    if (r < 0)
        return r;
    r = strv_copy(*field, &list);
    for (size_t i = 0; r >= 0 && words && words[i]; i++)
        r = add_word(in, kind, &list, words[i]);
    if (r < 0)
        return r;
    replace_vector(field, &list);
    return 0;
}

int config_parse_names(const struct config_input *in, char ***field)
{
    static const struct word_kind name = {config_is_name, "is no name"};

    return parse_words(in, &name, field);
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* As Prometheus has it. */
static bool is_metric(const char *s)
{
    size_t n = strspn(s, LETTERS "0123456789_:");

    return n > 0 && n <= METRIC_MAX_BYTES && s[n] == '\0' && !strchr("0123456789", s[0]);
}

int config_parse_metrics(const struct config_input *in, char ***field)
{
    static const struct word_kind metric = {is_metric, "is no name"};

    return parse_words(in, &metric, field);
}

int config_parse_directories(const struct config_input *in, char ***field)
{
    static const struct word_kind directory = {directories_is_one, "is no directory, or a root of too much"};

    return parse_words(in, &directory, field);
}

/* As the kernel names processes (TASK_COMM_LEN). */
static bool is_program(const char *s)
{
    return strlen(s) <= PROGRAM_MAX_BYTES && !strchr(s, '/');
}

int config_parse_programs(const struct config_input *in, char ***field)
{
    static const struct word_kind program = {is_program, "is no name of a program"};

    return parse_words(in, &program, field);
}

/* A key in a configuration would be read by everybody who may read the configuration. */
static int check_header(const struct config_input *in)
{
    size_t name = strspn(in->text, LETTERS "0123456789-_"), n = strlen(in->text);

    if (name == 0 || in->text[name] != ':')
        return explain(in, "no name in front of a colon");
    if (name == strlen("Authorization") && strncasecmp(in->text, "Authorization", name) == 0)
        return explain(in, "a key does not belong into a configuration");
    for (size_t i = name; i < n; i++) {
        if ((unsigned char) in->text[i] < ' ' && in->text[i] != '\t')
            return explain(in, "a control character");
    }
    return 0;
}

static int push_line(const struct config_input *in, char ***field, const char *too_many)
{
    if (strv_length(*field) >= CONFIG_MAX_ITEMS)
        return explain(in, too_many);
    return strv_push(field, in->text);
}

int config_parse_header(const struct config_input *in, char ***field)
{
    int r = check_header(in);

    return r < 0 ? r : push_line(in, field, "too many headers");
}

int config_parse_pattern(const struct config_input *in, char ***field)
{
    _cleanup_strv_ char **groups = NULL;
    int r = pattern_check(in->text, &groups, in->why);

    return r < 0 ? r : push_line(in, field, "too many patterns");
}
