/* SPDX-License-Identifier: MIT */
#include "ctl/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

#define OPTIONS_MAX 8

int ctl_fail(int code, const char *fmt, ...)
{
    va_list args;

    (void) fputs("coalminectl: ", stderr);
    va_start(args, fmt);
    (void) vfprintf(stderr, fmt, args);
    va_end(args);
    (void) fputc('\n', stderr);
    return code;
}

static int take(const struct ctl_option *o)
{
    if (o->list)
        return strv_push(o->list, optarg);
    if (o->value)
        *o->value = optarg;
    else
        *o->flag = true;
    return 0;
}

int ctl_parse(int argc, char **argv, const struct ctl_option *options, size_t n, int min, int max)
{
    struct option table[OPTIONS_MAX + 1] = {};
    int choice, words;

    for (size_t i = 0; i < n && i < OPTIONS_MAX; i++)
        table[i] = (struct option){
            .name = options[i].name,
            .has_arg = options[i].flag ? no_argument : required_argument,
            .val = (int) i,
        };
    optind = 0;
    opterr = 0;
    while ((choice = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (choice == '?')
            return ctl_fail(-EINVAL, "%s: '%s' is no option here, or lacks its value; see coalminectl --help", argv[0],
                            argv[optind - 1]);
        if (take(&options[choice]) < 0)
            return ctl_fail(-ENOMEM, "%s: %s", argv[0], strerror(ENOMEM));
    }
    words = argc - optind;
    if (words < min)
        return ctl_fail(-EINVAL, "%s: something is missing, see coalminectl --help", argv[0]);
    if (words > max)
        return ctl_fail(-EINVAL, "%s: unexpected '%s', see coalminectl --help", argv[0], argv[optind + max]);
    return words;
}
