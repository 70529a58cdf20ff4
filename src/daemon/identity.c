/* SPDX-License-Identifier: MIT */
#include "daemon/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-login.h>

#include "base/parse.h"
#include "base/str.h"
#include "port/conf_files.h"
#include "port/unit_name.h"

/* "coalmine@k26.service" -> "k26", "k26.service" -> "k26"; owned. */
static char *instance_of_unit(const char *unit)
{
    const char *at = strchr(unit, '@');
    const char *start = at ? at + 1 : unit;
    const char *dot = strrchr(start, '.');
    _cleanup_free_ char *escaped = strndup(start, dot ? (size_t) (dot - start) : strlen(start));

    return escaped ? unit_name_unescape(escaped) : NULL;
}

/* Finds the unit. A user's manager is itself inside a system unit, user@UID.service: the user unit is the
 * inner one and is asked for first. */
static int find_unit(struct identity *i)
{
    int r = sd_pid_get_user_unit(0, &i->unit);

    if (r >= 0) {
        i->user = true;
        return 0;
    }
    r = sd_pid_get_unit(0, &i->unit);
    return r == -ENOMEM ? r : 0;
}

/* systemd says which process it started (systemd.exec(5), $SYSTEMD_EXEC_PID); a shell or a terminal
 * inherits $INVOCATION_ID from a unit that is not ours. */
static bool started_by_systemd(void)
{
    const char *pid = getenv("SYSTEMD_EXEC_PID");
    uint64_t n;

    return pid && parse_u64(pid, &n) == 0 && n == (uint64_t) getpid();
}

static int find_invocation(struct identity *i)
{
    char text[SD_ID128_STRING_MAX];
    sd_id128_t id;

    if (!started_by_systemd() || sd_id128_get_invocation(&id) < 0)
        return 0;
    i->invocation = strdup(sd_id128_to_string(id, text));
    return i->invocation ? 0 : -ENOMEM;
}

static char *find_instance(const struct identity *i, const char *instance, const char *file)
{
    if (instance)
        return unit_name_unescape(instance);
    if (i->unit)
        return instance_of_unit(i->unit);
    return file ? conf_name_of_file(file) : strdup("default");
}

int identity_find(const char *instance, const char *file, struct identity *ret)
{
    struct identity i = {};
    int r = find_invocation(&i);

    if (r == 0 && i.invocation)
        r = find_unit(&i);
    if (r == 0) {
        i.instance = find_instance(&i, instance, file);
        i.identifier = i.instance ? strdup(i.instance) : NULL;
        r = !i.instance || !i.identifier ? -ENOMEM : i.instance[0] == '\0' ? -EINVAL : 0;
    }
    if (r < 0) {
        identity_release(&i);
        return r;
    }
    *ret = i;
    return 0;
}

void identity_release(struct identity *i)
{
    free(i->instance);
    free(i->unit);
    free(i->invocation);
    free(i->identifier);
    *i = (struct identity){};
}
