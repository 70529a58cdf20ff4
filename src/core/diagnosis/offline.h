/* SPDX-License-Identifier: MIT */
#pragma once

/* The diagnosis of a log that is simply there: no process, no canary, no kernel, whatever its age. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "core/diagnosis/evidence.h"

/* The phases of one engine; steps go forward within them. */
struct offline_profile {
    const char *name;
    const struct phase_config *phases;
    size_t n_phases;
};

struct offline;

/* Catalog and profiles are borrowed. `engine` NULL: any. *ret_errors and -EINVAL as matcher_new(). */
must_check int offline_new(const struct catalog *catalog, const char *engine,
                           const struct offline_profile *profiles, size_t n_profiles, struct offline **ret,
                           char ***ret_errors);
void offline_free(struct offline *o);
DEFINE_CLEANUP(struct offline *, offline_free);

/* The whole log, once. One whose time stamps run backwards is read from its end. -ENOMEM only. */
must_check int offline_read(struct offline *o, const char *text, size_t len);

/* What the log says, valid after offline_read(). -ENOMEM only. */
must_check int offline_root_cause(const struct offline *o, struct root_cause *ret);
/* As evidence_findings(). */
must_check int offline_findings(const struct offline *o, finding_fn fn, void *userdata);
/* The last step of loading that has begun; NULL when none was recognised. Borrowed. */
const char *offline_phase(const struct offline *o);
/* Lines that look like trouble, the likeliest first, at most 5: for logs of which the catalog knows
 * nothing. Borrowed. */
char *const *offline_likeliest(const struct offline *o);
/* All of it for programs: fatal, class, signature, captures, retry, line, text, before, after, summary,
 * hint, phase, fingerprint, candidates, likeliest. *ret is a new reference; secrets are redacted. -ENOMEM only. */
must_check int offline_json(const struct offline *o, json_t **ret);
