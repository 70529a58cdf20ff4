/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "core/config/config_builder.h"
#include "core/config/config_value.h"
#include "core/config/problems.h"
#include "core/diagnosis/pattern.h"

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

static int add_name(const struct config_input *in, char ***list, const char *name)
{
    if (!config_is_name(name))
        return explain_quoted(in, name, "is no name");
    if (strv_contains(*list, name))
        return 0;
    if (strv_length(*list) >= CONFIG_MAX_ITEMS)
        return explain(in, "too many names");
    return strv_push(list, name);
}

int config_parse_names(const struct config_input *in, char ***field)
{
    _cleanup_strv_ char **names = NULL, **list = NULL;
    int r;

    r = strv_split(in->text, " \t", &names);
    if (r < 0)
        return r;
    r = strv_copy(*field, &list);
    for (size_t i = 0; r >= 0 && names && names[i]; i++)
        r = add_name(in, &list, names[i]);
    if (r < 0)
        return r;
    replace_vector(field, &list);
    return 0;
}

int config_parse_pattern(const struct config_input *in, char ***field)
{
    _cleanup_strv_ char **groups = NULL;
    int r = pattern_check(in->text, &groups, in->why);

    if (r < 0)
        return r;
    if (strv_length(*field) >= CONFIG_MAX_ITEMS)
        return explain(in, "too many patterns");
    return strv_push(field, in->text);
}
