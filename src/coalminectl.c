/* SPDX-License-Identifier: MIT */

/* The operator's tool: finds the verb, the verb does the rest. */

#include <stdio.h>

#include "base/str.h"
#include "ctl/options.h"
#include "ctl/verb.h"

struct verb {
    const char *name;
    const char *arguments;
    const char *text;
    int (*run)(int argc, char **argv);
};

static const struct verb verbs[] = {
#define X(function, word, arguments, text) { word, arguments, text, function },
    VERBS(X)
#undef X
};

static int help(void)
{
    (void) puts("Usage: coalminectl VERB [OPTIONS] [WORDS]\n");
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        (void) printf("  %s %s\n          %s\n", verbs[i].name, verbs[i].arguments, verbs[i].text);
    (void) puts("\nSee coalminectl(1) for the exit codes of each verb, coalmine.conf(5) for the keys.");
    return CTL_OK;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";

    if (str_equal(word, "--help") || str_equal(word, "-h") || str_equal(word, "help"))
        return help();
    if (str_equal(word, "--version") || str_equal(word, "-V"))
        return puts("coalminectl " COALMINE_VERSION) < 0 ? CTL_FAILED : CTL_OK;
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (str_equal(word, verbs[i].name))
            return verbs[i].run(argc - 1, argv + 1);
    return ctl_fail(CTL_USAGE, "no verb '%s', see coalminectl --help", word);
}
