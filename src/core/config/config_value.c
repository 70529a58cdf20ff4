/* SPDX-License-Identifier: MIT */
#include "core/config/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>

#include "base/parse.h"

#define NAME_MAX_BYTES 64

bool config_is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

    return n > 0 && n <= NAME_MAX_BYTES && s[n] == '\0' && s[0] != '.';
}

void config_explain_specifier(struct strbuf *why, char letter)
{
    if (letter == '\0')
        strbuf_append(why, "a % at the end (a percent sign is written %%)");
    else
        strbuf_appendf(why, "the unknown specifier %%%c (known are %%i, %%D, %%p and %%d; a percent sign "
                       "is written %%%%)", letter);
}

int config_expand(const struct config_input *in, char **ret)
{
    char bad = '\0';
    int r = specifiers_expand(in->text, in->specifiers, ret, &bad);

    if (r == -EINVAL)
        config_explain_specifier(in->why, bad);
    return r;
}

static int parse_name(const struct config_input *in, char **field)
{
    return config_is_name(in->text) ? str_replace(field, in->text) : -EINVAL;
}

static int choice_index(const struct config_input *in, unsigned *ret)
{
    for (unsigned i = 0; in->key->choices[i]; i++) {
        if (str_equal(in->key->choices[i], in->text)) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_word(const struct config_input *in, char **field)
{
    unsigned i;
    int r = choice_index(in, &i);

    return r < 0 ? r : str_replace(field, in->text);
}

static int parse_limit(const struct config_input *in, char **field)
{
    uint64_t number;
    int r = str_equal(in->text, "infinity") ? 0 : parse_u64(in->text, &number);

    return r < 0 ? r : str_replace(field, in->text);
}

static int parse_path(const struct config_input *in, char **field)
{
    _cleanup_free_ char *path = NULL;
    int r = config_expand(in, &path);

    if (r < 0)
        return r;
    if (path[0] != '/')
        return -EINVAL;
    free(*field);
    *field = steal_pointer(&path);
    return 0;
}

/* jansson takes many a failed allocation for a mistake in the text; errno knows. */
static int parse_json(const struct config_input *in, char **field)
{
    json_error_t error = {};
    json_t *value;
    bool object;

    errno = 0;
    value = json_loads(in->text, JSON_REJECT_DUPLICATES, &error);
    if (!value && errno == ENOMEM)
        return -ENOMEM;
    if (!value)
        strbuf_append(in->why, error.text);
    object = json_is_object(value);
    json_decref(value);
    return object ? str_replace(field, in->text) : -EINVAL;
}

static int parse_number(const struct config_input *in, int (*parse)(const char *, uint64_t *),
                        uint64_t *field)
{
    uint64_t value;
    int r = parse(in->text, &value);

    if (r < 0)
        return r;
    if (value < in->key->min || value > in->key->max)
        return -ERANGE;
    *field = value;
    return 0;
}

static int parse_real(const struct config_input *in, double *field)
{
    double value;
    int r = parse_double(in->text, &value);

    if (r < 0)
        return r;
    if (value < in->key->real_min || value > in->key->real_max)
        return -ERANGE;
    *field = value;
    return 0;
}

static int parse_value(const struct config_input *in, void *field)
{
    switch (in->key->type) {
    case CONFIG_STRING:
        return str_replace(field, in->text);
    case CONFIG_NAME:
        return parse_name(in, field);
    case CONFIG_WORD:
        return parse_word(in, field);
    case CONFIG_LIMIT:
        return parse_limit(in, field);
    case CONFIG_PATH:
        return parse_path(in, field);
    case CONFIG_URL:
        return config_parse_url(in, field);
    case CONFIG_URL_PATH:
        return config_parse_url_path(in, field);
    case CONFIG_LISTEN:
        return config_parse_listen(in, field);
    case CONFIG_COMMAND:
        return config_parse_command(in, field);
    case CONFIG_ENVIRONMENT:
        return config_parse_environment(in, field);
    case CONFIG_NAMES:
        return config_parse_names(in, field);
    case CONFIG_PATTERNS:
        return config_parse_pattern(in, field);
    case CONFIG_HEADERS:
        return config_parse_header(in, field);
    case CONFIG_METRICS:
        return config_parse_metrics(in, field);
    case CONFIG_DIRECTORIES:
        return config_parse_directories(in, field);
    case CONFIG_PROGRAMS:
        return config_parse_programs(in, field);
    case CONFIG_JSON:
        return parse_json(in, field);
    case CONFIG_BOOL:
        return parse_bool(in->text, field);
    case CONFIG_TIMESPAN:
        return parse_number(in, parse_timespan, field);
    case CONFIG_SIZE:
        return parse_number(in, parse_size, field);
    case CONFIG_UINT:
        return parse_number(in, parse_u64, field);
    case CONFIG_REAL:
        return parse_real(in, field);
    case CONFIG_SIGNAL:
        return parse_signal(in->text, field);
    case CONFIG_CHOICE:
        return choice_index(in, field);
    }
    return -EINVAL;
}

/* What a member holds that nobody has set. */
static void clear(const struct config_key *k, void *field)
{
    config_value_release(k, field);
    switch (k->type) {
    case CONFIG_TIMESPAN:
    case CONFIG_SIZE:
    case CONFIG_UINT:
        *(uint64_t *) field = 0;
        break;
    case CONFIG_REAL:
        *(double *) field = -1;
        break;
    case CONFIG_BOOL:
        *(bool *) field = false;
        break;
    case CONFIG_SIGNAL:
        *(int *) field = 0;
        break;
    case CONFIG_CHOICE:
        *(unsigned *) field = 0;
        break;
    case CONFIG_STRING:
    case CONFIG_NAME:
    case CONFIG_WORD:
    case CONFIG_LIMIT:
    case CONFIG_PATH:
    case CONFIG_URL:
    case CONFIG_URL_PATH:
    case CONFIG_LISTEN:
    case CONFIG_COMMAND:
    case CONFIG_ENVIRONMENT:
    case CONFIG_NAMES:
    case CONFIG_PATTERNS:
    case CONFIG_HEADERS:
    case CONFIG_METRICS:
    case CONFIG_DIRECTORIES:
    case CONFIG_PROGRAMS:
    case CONFIG_JSON:
        break;
    }
}

int config_value_default(const struct config_key *k, void *field)
{
    static const struct specifiers none = {};
    _cleanup_strbuf_ struct strbuf why = {};
    struct config_input in = {
        .key = k,
        .text = k->default_text,
        .specifiers = &none,
        .why = &why,
    };

    clear(k, field);
    return k->default_text ? parse_value(&in, field) : 0;
}

int config_value_reset(const struct config_key *k, void *field)
{
    if (!config_type_is_list(k->type))
        return config_value_default(k, field);
    clear(k, field);
    return 0;
}

int config_value_set(const struct config_input *in, void *field)
{
    if (!in->words && *in->text == '\0')
        return config_value_reset(in->key, field);
    return parse_value(in, field);
}

static bool is_vector(enum config_type type)
{
    return type == CONFIG_COMMAND || config_type_is_list(type);
}

static bool is_text(enum config_type type)
{
    return type == CONFIG_STRING || type == CONFIG_NAME || type == CONFIG_WORD || type == CONFIG_LIMIT ||
           type == CONFIG_PATH || type == CONFIG_URL || type == CONFIG_URL_PATH || type == CONFIG_LISTEN ||
           type == CONFIG_JSON;
}

void config_value_release(const struct config_key *k, void *field)
{
    if (is_vector(k->type)) {
        strv_free(*(char ***) field);
        *(char ***) field = NULL;
    } else if (is_text(k->type)) {
        free(*(char **) field);
        *(char **) field = NULL;
    }
}

static int copy_text(char *const *from, char **to)
{
    char *copy = *from ? strdup(*from) : NULL;

    if (*from && !copy)
        return -ENOMEM;
    *to = copy;
    return 0;
}

int config_value_copy(const struct config_key *k, const void *from, void *to)
{
#define X(constant, c_type, text) [constant] = sizeof(c_type),
    static const size_t sizes[] = {CONFIG_TYPES(X)};
#undef X

    if (is_vector(k->type))
        return strv_copy(*(char *const *const *) from, to);
    if (is_text(k->type))
        return copy_text(from, to);
    memcpy(to, from, sizes[k->type]);
    return 0;
}

bool config_value_is_set(const struct config_key *k, const void *field)
{
    if (is_vector(k->type))
        return strv_length(*(char *const *const *) field) > 0;
    if (is_text(k->type))
        return *(char *const *) field != NULL;
    if (k->type == CONFIG_REAL)
        return *(const double *) field >= 0;
    if (k->type == CONFIG_TIMESPAN)
        return k->default_text || *(const usec_t *) field > 0;
    return true;
}
