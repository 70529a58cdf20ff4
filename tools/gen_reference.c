/* SPDX-License-Identifier: MIT */
/* Copies a manual page from stdin to stdout and puts the reference of all configuration keys between
 * its two marks: gen-reference <page >page.new */

#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "core/config/config_reference.h"

#define BEGIN_MARK "; begin: made by `make reference`\n"
#define END_MARK "; end\n"

static int copy_page(FILE *in, FILE *out, const char *reference)
{
    _cleanup_free_ char *line = NULL;
    size_t allocated = 0, marks = 0;
    bool inside = false;

    while (getline(&line, &allocated, in) >= 0) {
        bool begins = str_equal(line, BEGIN_MARK), ends = inside && str_equal(line, END_MARK);

        if (ends && fputs(reference, out) == EOF)
            return -EIO;
        marks += (size_t) begins + (size_t) ends;
        inside = (inside || begins) && !ends;
        if ((!inside || begins) && fputs(line, out) == EOF)
            return -EIO;
    }
    return ferror(in) ? -EIO : marks != 2 ? -EBADMSG : 0;
}

int main(void)
{
    _cleanup_free_ char *reference = config_reference();
    int r = reference ? copy_page(stdin, stdout, reference) : -ENOMEM;

    if (r >= 0 && fflush(stdout) == EOF)
        r = -EIO;
    if (r < 0)
        (void) fprintf(stderr, "gen-reference: %s\n",
                       r == -EBADMSG ? "the page has not one pair of marks" : strerrordesc_np(-r));
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
