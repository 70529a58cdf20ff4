/* SPDX-License-Identifier: MIT */
#include "daemon/caches.h"

#include <errno.h>

#include "base/str.h"
#include "core/config/directories.h"
#include "port/home.h"

int caches_find(const struct start_config *config, char *const *environment, struct caches *ret)
{
    _cleanup_free_ char *home = home_directory(environment);
    _cleanup_strv_ char **downloads = NULL;
    struct caches c = {};
    int r = directories_expand(config->cache_directories, environment, home, &c.builds);

    if (r == 0)
        r = directories_expand(config->download_directories, environment, home, &downloads);
    if (r == 0)
        r = strv_copy(c.builds, &c.all);
    for (size_t i = 0; r == 0 && downloads && downloads[i]; i++)
        r = strv_push(&c.all, downloads[i]);
    if (r < 0) {
        caches_release(&c);
        return r;
    }
    *ret = c;
    return 0;
}

void caches_release(struct caches *c)
{
    strv_free(c->builds);
    strv_free(c->all);
    *c = (struct caches){};
}
