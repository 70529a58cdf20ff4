/* SPDX-License-Identifier: MIT */
#include "core/config/config_shown.h"

#include <errno.h>
#include <inttypes.h>

#include "base/parse.h"
#include "core/config/config_text.h"
#include "core/config/config_value.h"
#include "core/diagnosis/redact.h"

static int redact_all(char *const *texts, char *(*redact)(const char *), char ***ret)
{
    _cleanup_strv_ char **shown = NULL;

    for (size_t i = 0; texts && texts[i]; i++) {
        _cleanup_free_ char *one = redact(texts[i]);

        if (!one || strv_push(&shown, one) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&shown);
    return 0;
}

static int shown_words(const struct config_key *k, char *const *words, char ***ret)
{
    if (k->type == CONFIG_COMMAND)
        return redact_command(words, ret);
    if (k->type == CONFIG_ENVIRONMENT)
        return redact_all(words, redact_environment, ret);
    if (k->type == CONFIG_HEADERS)
        return redact_all(words, redact_text, ret);
    return strv_copy(words, ret);
}

/* Paths are read with specifiers in them. */
static void append_path(struct strbuf *b, const char *path)
{
    for (; *path != '\0'; path++) {
        if (*path == '%')
            strbuf_append_char(b, '%');
        strbuf_append_char(b, *path);
    }
}

static void append_signal(struct strbuf *b, int signo)
{
    const char *name = signal_name(signo);

    if (name)
        strbuf_append(b, name);
    else
        strbuf_appendf(b, "%d", signo);
}

static int append_words(const struct config_key *k, char *const *words, struct strbuf *b)
{
    _cleanup_strv_ char **shown = NULL;
    _cleanup_free_ char *text = NULL;
    int r = shown_words(k, words, &shown);

    if (r < 0)
        return r;
    text = config_type_is_words(k->type) ? strv_join(shown, " ") : words_join(shown);
    if (!text)
        return -ENOMEM;
    strbuf_append(b, text);
    return 0;
}

/* It may be a key under another name than the usual one. */
static int append_header(const char *header, struct strbuf *b)
{
    _cleanup_free_ char *shown = redact_text(header);

    if (!shown)
        return -ENOMEM;
    strbuf_append(b, shown);
    return 0;
}

static int append_value(const struct config_key *k, const void *field, size_t i, struct strbuf *b)
{
    switch (k->type) {
    case CONFIG_STRING:
    case CONFIG_NAME:
    case CONFIG_WORD:
    case CONFIG_LIMIT:
    case CONFIG_URL:
    case CONFIG_URL_PATH:
    case CONFIG_LISTEN:
    case CONFIG_JSON:
        strbuf_append(b, str_or_empty(*(char *const *) field));
        break;
    case CONFIG_PATH:
        append_path(b, str_or_empty(*(char *const *) field));
        break;
    case CONFIG_COMMAND:
    case CONFIG_ENVIRONMENT:
    case CONFIG_NAMES:
    case CONFIG_METRICS:
    case CONFIG_DIRECTORIES:
    case CONFIG_PROGRAMS:
        return append_words(k, *(char *const *const *) field, b);
    case CONFIG_PATTERNS:
        strbuf_append(b, (*(char *const *const *) field)[i]);
        break;
    case CONFIG_HEADERS:
        return append_header((*(char *const *const *) field)[i], b);
    case CONFIG_BOOL:
        strbuf_append(b, *(const bool *) field ? "yes" : "no");
        break;
    case CONFIG_TIMESPAN:
        config_text_timespan(b, *(const usec_t *) field);
        break;
    case CONFIG_SIZE:
        config_text_size(b, *(const uint64_t *) field);
        break;
    case CONFIG_UINT:
        strbuf_appendf(b, "%" PRIu64, *(const uint64_t *) field);
        break;
    case CONFIG_REAL:
        config_text_real(b, *(const double *) field);
        break;
    case CONFIG_SIGNAL:
        append_signal(b, *(const int *) field);
        break;
    case CONFIG_CHOICE:
        strbuf_append(b, k->choices[*(const unsigned *) field]);
        break;
    }
    return 0;
}

int config_shown_text(const struct config_key *k, const void *field, size_t i, struct strbuf *b)
{
    int r = append_value(k, field, i, b);

    return r < 0 ? r : b->failed ? -ENOMEM : 0;
}

json_t *config_shown_string(const char *s)
{
    _cleanup_free_ char *clean = utf8_sanitize(s, strlen(s));

    return clean ? json_string(clean) : NULL;
}

static int json_words(const struct config_key *k, char *const *words, json_t **ret)
{
    _cleanup_strv_ char **shown = NULL;
    json_auto_t *array = json_array();
    int r = shown_words(k, words, &shown);

    if (r < 0)
        return r;
    for (size_t i = 0; shown && shown[i]; i++) {
        if (json_array_append_new(array, config_shown_string(shown[i])) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&array);
    return *ret ? 0 : -ENOMEM;
}

static int json_text(const struct config_key *k, const void *field, json_t **ret)
{
    _cleanup_strbuf_ struct strbuf b = {};
    int r = config_shown_text(k, field, 0, &b);

    if (r < 0)
        return r;
    *ret = config_shown_string(str_or_empty(b.data));
    return *ret ? 0 : -ENOMEM;
}

static json_t *json_scalar(const struct config_key *k, const void *field)
{
    if (!config_value_is_set(k, field))
        return json_null();
    if (k->type == CONFIG_BOOL)
        return json_boolean(*(const bool *) field);
    if (k->type == CONFIG_UINT)
        return json_integer((json_int_t) *(const uint64_t *) field);
    return json_real(*(const double *) field);
}

int config_shown_json(const struct config_key *k, const void *field, json_t **ret)
{
    bool number = k->type == CONFIG_BOOL || k->type == CONFIG_UINT || k->type == CONFIG_REAL;

    if (k->type == CONFIG_COMMAND || config_type_is_list(k->type))
        return json_words(k, *(char *const *const *) field, ret);
    if (!number && config_value_is_set(k, field))
        return json_text(k, field, ret);
    *ret = number ? json_scalar(k, field) : json_null();
    return *ret ? 0 : -ENOMEM;
}
