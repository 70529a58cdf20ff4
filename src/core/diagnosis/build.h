/* SPDX-License-Identifier: MIT */
#pragma once

/* A JSON object under construction, for what goes out of the program: texts become valid UTF-8 and lose
 * their secrets. The first failure is remembered, so that a run of additions needs one check at its end. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "base/timeutil.h"

struct build {
    json_t *root;
    bool failed;
};

/* Valid UTF-8 without secrets, owned; NULL when memory is out. */
must_check char *build_presentable(const char *text);
/* That as a new reference, NULL when memory is out. */
must_check json_t *build_text(const char *text);

/* Takes over value; NULL is a failed allocation. */
void build_set(struct build *b, json_t *object, const char *key, json_t *value);
void build_append(struct build *b, json_t *array, json_t *value);
/* At most INT64_MAX, which stands for all above. */
void build_set_number(struct build *b, json_t *object, const char *key, uint64_t n);
/* Leaves the key out for NULL. */
void build_set_text(struct build *b, json_t *object, const char *key, const char *text);
void build_set_texts(struct build *b, json_t *object, const char *key, char *const *texts);
void build_set_time(struct build *b, json_t *object, const char *key, usec_t realtime);
/* Borrowed; use it only while nothing has failed. */
json_t *build_add_object(struct build *b, json_t *parent, const char *key);
json_t *build_add_array(struct build *b, json_t *parent, const char *key);
/* The object as a new reference; NULL after a failure, and then nothing is left. */
must_check json_t *build_finish(struct build *b);
