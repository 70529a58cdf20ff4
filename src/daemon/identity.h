/* SPDX-License-Identifier: MIT */
#pragma once

/* Who this supervisor is: its instance, and the unit that it runs as. */

#include <stdbool.h>

#include "base/macro.h"

struct identity {
    char *instance;
    char *unit;       /* NULL when not run by systemd */
    char *invocation; /* 32 hexadecimal digits; NULL likewise */
    char *identifier; /* SYSLOG_IDENTIFIER of the server's lines: the instance's name */
    bool user;        /* of a user's service manager */
};

/* `instance` NULL: what stands before `.service` and after `@` in the unit's name; without a unit, what the
 * configuration `file` is called (NULL: "default"). The first two as systemd writes them (port/unit_name.h).
 * -EINVAL: that gives no usable instance. */
must_check int identity_find(const char *instance, const char *file, struct identity *ret);
void identity_release(struct identity *i);
