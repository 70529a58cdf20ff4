/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/catalog_draft.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789"

/* What a kind of section is called, what its names are made of and which keys it knows. */
struct kind {
    const char *section;
    const char *characters;
    const char *characters_text;
    const char *const *keys;
    size_t n_keys;
};

#define X(constant, name) name,
static const char *const class_keys[] = {CLASS_KEYS(X)};
static const char *const signature_keys[] = {SIGNATURE_KEYS(X)};
#undef X

static const struct kind class_kind = {
    "Class", NAME_CHARACTERS "_", "a-z, 0-9 and _", class_keys, ARRAY_SIZE(class_keys),
};
static const struct kind signature_kind = {
    "Signature", NAME_CHARACTERS "-", "a-z, 0-9 and -", signature_keys, ARRAY_SIZE(signature_keys),
};

const struct draft *draft_find(const struct draft_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (str_equal(l->items[i].name, name))
            return &l->items[i];
    }
    return NULL;
}

static int find_or_add(struct draft_list *l, const struct unit_entry *head, struct draft **ret)
{
    const struct draft *known = draft_find(l, head->argument);
    struct draft *grown;

    if (known) {
        *ret = &l->items[known - l->items];
        return 0;
    }
    grown = reallocarray(l->items, l->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    l->items = grown;
    *ret = &l->items[l->n++];
    **ret = (struct draft){.name = head->argument, .head = head};
    return 0;
}

static bool is_name(const char *s, const char *characters)
{
    return !str_empty(s) && s[strspn(s, characters)] == '\0';
}

/* *ret is NULL when the section is none: a problem, and what stands below it is skipped. */
static int open_section(struct catalog_draft *d, const struct unit_entry *head, const struct kind **ret_kind,
                        struct draft **ret, struct problems *p)
{
    const struct kind *kind = NULL;

    *ret = NULL;
    if (str_equal(head->section, class_kind.section))
        kind = &class_kind;
    else if (str_equal(head->section, signature_kind.section))
        kind = &signature_kind;
    if (!kind)
        return problems_add(p, head->file, head->line,
                            "unknown section [%.60s]; expected [Class NAME] or [Signature ID]",
                            head->section);
    if (!is_name(head->argument, kind->characters))
        return problems_add(p, head->file, head->line, "[%s %.60s]: the name must consist of %s",
                            kind->section, str_or_empty(head->argument), kind->characters_text);
    *ret_kind = kind;
    return find_or_add(kind == &class_kind ? &d->classes : &d->signatures, head, ret);
}

static size_t key_index(const struct kind *kind, const char *key)
{
    size_t i = 0;

    while (i < kind->n_keys && !str_equal(kind->keys[i], key))
        i++;
    return i;
}

static const char *nearest_key(const struct kind *kind, const char *key)
{
    const char *nearest = kind->keys[0];

    for (size_t i = 1; i < kind->n_keys; i++) {
        if (str_distance(kind->keys[i], key) < str_distance(nearest, key))
            nearest = kind->keys[i];
    }
    return nearest;
}

static int add_pattern(struct draft *d, const struct unit_entry *e)
{
    const struct unit_entry **grown = reallocarray(d->patterns, d->n_patterns + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    d->patterns = grown;
    d->patterns[d->n_patterns++] = e;
    return 0;
}

static int assign(struct draft *d, const struct kind *kind, const struct unit_entry *e, struct problems *p)
{
    size_t key = key_index(kind, e->key);
    bool empty = str_empty(e->value);

    if (key == kind->n_keys)
        return problems_add(p, e->file, e->line, "unknown key %.60s= in [%s %s]; did you mean %s=?", e->key,
                            kind->section, d->name, nearest_key(kind, e->key));
    d->values[key] = empty ? NULL : e;
    if (kind != &signature_kind || key != SIGNATURE_PATTERN)
        return 0;
    if (!empty)
        return add_pattern(d, e);
    d->n_patterns = 0;
    return 0;
}

int catalog_draft_read(const struct unitfile *u, struct catalog_draft *d, struct problems *p)
{
    const struct kind *kind = NULL;
    struct draft *current = NULL;

    for (size_t i = 0; i < u->n; i++) {
        const struct unit_entry *e = &u->entries[i];
        int r = 0;

        if (!e->key)
            r = open_section(d, e, &kind, &current, p);
        else if (current)
            r = assign(current, kind, e, p);
        if (r < 0)
            return r;
    }
    return 0;
}

static void draft_list_release(struct draft_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].patterns);
    free(l->items);
}

void catalog_draft_release(struct catalog_draft *d)
{
    draft_list_release(&d->classes);
    draft_list_release(&d->signatures);
    *d = (struct catalog_draft){};
}
