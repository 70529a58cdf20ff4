/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes allocations fail on purpose. Unit tests are linked so that malloc, calloc, realloc,
 * reallocarray, strdup and strndup pass through here whenever our own code calls them; what a
 * library calls inside does not, unless it is given chaos_malloc(). */

#include <stddef.h>

/* The nth allocation from now on (1 is the next) fails, those after it succeed. */
void chaos_arm(unsigned long nth);
/* No allocation fails any more. Returns whether the armed one was reached. */
_Bool chaos_disarm(void);

/* For libraries that take an allocator: json_set_alloc_funcs(chaos_malloc, free). */
void *chaos_malloc(size_t size);

/* Does the same thing from the beginning each time it is called; 0 or a negative errno. It must
 * free all it has made in either case and check itself what a failure must leave alone. */
typedef int chaos_body(void *data);

/* Calls body with its first allocation failing, then with its second and so on, until it gets
 * through; fails the test unless every failed allocation gives -ENOMEM and the last run 0. Returns
 * how many allocations there were, never 0. */
unsigned long chaos_each(chaos_body *body, void *data);
