/* SPDX-License-Identifier: MIT */
#pragma once

/* Reaching the structs of a struct config through the table. */

#include "core/config/config.h"
#include "core/config/config_key.h"

/* How many structs the section has: 1 for a plain one. */
size_t config_section_count(const struct config *c, const struct config_section *s);
/* The i-th of them, to read and to write. */
const void *config_section_at(const struct config *c, const struct config_section *s, size_t i);
void *config_section_edit(struct config *c, const struct config_section *s, size_t i);
/* Its name: of a named section, NULL for a plain one. */
const char *config_section_name_at(const struct config *c, const struct config_section *s, size_t i);
/* Which of them has that name (NULL for a plain section); false if none has. */
bool config_section_index(const struct config *c, const struct config_section *s, const char *name,
                          size_t *ret);
/* A new struct of a named section, with the defaults of all its keys. -ENOMEM only. */
must_check int config_section_new(struct config *c, const struct config_section *s, const char *name,
                                  void **ret);
/* The defaults of a plain section. -ENOMEM only. */
must_check int config_section_defaults(const struct config_section *s, void *at);
/* The member that the key fills, to read and to write. */
const void *config_field_at(const void *section_struct, const struct config_key *k);
void *config_field(void *section_struct, const struct config_key *k);
