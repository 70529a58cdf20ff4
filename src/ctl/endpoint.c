/* SPDX-License-Identifier: MIT */

/* coalminectl endpoint: where a running instance's server is, for programs that connect to it. */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/str.h"
#include "ctl/instance.h"
#include "ctl/options.h"
#include "ctl/verb.h"

/* "HOST:PORT" or "/SOCKET", as systemd-socket-proxyd(8) takes it. */
static const char *address_of(const char *url)
{
    const char *rest = strstr(url, "://");

    return rest ? rest + strlen("://") : str_after(url, "unix:");
}

int ctl_endpoint(int argc, char **argv)
{
    _cleanup_(instance_release) struct instance i = {};
    const char *address;
    int r;

    if (ctl_parse(argc, argv, NULL, 0, 1, 1) < 0)
        return CTL_USAGE;
    r = instance_read(argv[optind], &i);
    if (r == -EINVAL)
        return ctl_fail(CTL_USAGE, "%s: not a name of an instance", argv[optind]);
    if (r < 0)
        return ctl_fail(CTL_FAILED, "%s: %s", argv[optind], strerror(-r));
    address = i.running ? address_of(instance_get(&i, "url")) : NULL;
    if (!address)
        return ctl_fail(CTL_FAILED, "%s is not running", i.name);
    return puts(address) < 0 ? CTL_FAILED : CTL_OK;
}
