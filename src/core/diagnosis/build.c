/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/build.h"

#include "base/str.h"
#include "core/diagnosis/redact.h"

char *build_presentable(const char *text)
{
    _cleanup_free_ char *clean = utf8_sanitize(text, strlen(text));

    return clean ? redact_text(clean) : NULL;
}

json_t *build_text(const char *text)
{
    _cleanup_free_ char *shown = build_presentable(text);

    return shown ? json_string(shown) : NULL;
}

void build_set(struct build *b, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        b->failed = true;
}

void build_append(struct build *b, json_t *array, json_t *value)
{
    if (!value || json_array_append_new(array, value) < 0)
        b->failed = true;
}

void build_set_number(struct build *b, json_t *object, const char *key, uint64_t n)
{
    build_set(b, object, key, json_integer((json_int_t) MIN(n, (uint64_t) INT64_MAX)));
}

void build_set_text(struct build *b, json_t *object, const char *key, const char *text)
{
    if (text)
        build_set(b, object, key, build_text(text));
}

void build_set_texts(struct build *b, json_t *object, const char *key, char *const *texts)
{
    json_t *array = build_add_array(b, object, key);

    for (size_t i = 0; !b->failed && texts && texts[i]; i++)
        build_append(b, array, build_text(texts[i]));
}

void build_set_time(struct build *b, json_t *object, const char *key, usec_t realtime)
{
    char buf[FORMAT_TIMESTAMP_MAX];

    build_set(b, object, key, json_string(format_timestamp(buf, realtime)));
}

json_t *build_add_object(struct build *b, json_t *parent, const char *key)
{
    json_t *object = json_object();

    build_set(b, parent, key, object);
    return object;
}

json_t *build_add_array(struct build *b, json_t *parent, const char *key)
{
    json_t *array = json_array();

    build_set(b, parent, key, array);
    return array;
}

json_t *build_finish(struct build *b)
{
    if (b->failed) {
        json_decref(b->root);
        b->root = NULL;
    }
    return b->root;
}
