/* SPDX-License-Identifier: MIT */
#include "port/conf_files.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "core/config/config_builder.h"
#include "port/conf_read.h"
#include "port/unit_name.h"

#define INSTANCE_MAX_BYTES 128

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* conf/ of the source tree that the running program was built in: TREE/build/PROGRAM. *ret is NULL when
 * it was not, as when installed. */
static int find_tree(char **ret)
{
    _cleanup_free_ char *program = realpath("/proc/self/exe", NULL);
    _cleanup_free_ char *conf = NULL, *profiles = NULL;
    char *slash = program ? strrchr(program, '/') : NULL;

    *ret = NULL;
    if (!slash)
        return errno == ENOMEM ? -ENOMEM : 0;
    *slash = '\0';
    slash = strrchr(program, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    conf = str_format("%s/conf", program);
    profiles = str_format("%s/conf/profiles", program);
    if (!conf || !profiles)
        return -ENOMEM;
    if (is_directory(profiles))
        *ret = steal_pointer(&conf);
    return 0;
}

/* Paths are handed to the server's probes, which may run elsewhere. What does not exist stays as it is:
 * its absence is found, and told, by whoever wants to read it. */
static char *absolute(const char *path)
{
    char *resolved = path[0] == '/' ? NULL : realpath(path, NULL);

    return resolved ? resolved : strdup(path);
}

int conf_paths_init(struct conf_paths *p, const char *config_dir, const char *data_dir)
{
    _cleanup_free_ char *tree = NULL;
    int r = data_dir ? 0 : find_tree(&tree);

    if (r < 0)
        return r;
    if (!data_dir)
        data_dir = tree ? tree : COALMINE_DATADIR;
    p->config_dir = absolute(config_dir ? config_dir : COALMINE_SYSCONFDIR "/coalmine");
    p->data_dir = absolute(data_dir);
    if (!p->config_dir || !p->data_dir) {
        conf_paths_release(p);
        return -ENOMEM;
    }
    return 0;
}

static int add_user_dir(struct conf_paths *p)
{
    const char *given = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (str_empty(given) && str_empty(home))
        return 0;
    p->user_dir = str_empty(given) ? str_format("%s/.config/coalmine", home) : str_format("%s/coalmine", given);
    return p->user_dir ? 0 : -ENOMEM;
}

int conf_paths_find(bool user, struct conf_paths *p)
{
    const char *config_dir = getenv("COALMINE_CONFIG_DIR");
    int r = conf_paths_init(p, config_dir, getenv("COALMINE_DATA_DIR"));

    if (r == 0 && user && !config_dir)
        r = add_user_dir(p);
    return r;
}

/* Where a kind of files may be, the last word last. */
static int places_of(const struct conf_paths *p, const char *kind, char ***ret)
{
    const char *const bases[] = { p->data_dir, p->config_dir, p->user_dir };
    _cleanup_strv_ char **places = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(bases) && bases[i]; i++) {
        _cleanup_free_ char *place = str_format("%s/%s", bases[i], kind);

        if (!place || strv_push(&places, place) < 0)
            return -ENOMEM;
    }
    *ret = steal_pointer(&places);
    return 0;
}

void conf_paths_release(struct conf_paths *p)
{
    free(p->config_dir);
    free(p->user_dir);
    free(p->data_dir);
    *p = (struct conf_paths){};
}

bool conf_instance_valid(const char *name)
{
    size_t n = strlen(name), length;

    if (n == 0 || n > INSTANCE_MAX_BYTES || name[0] == '.')
        return false;
    for (size_t i = 0; i < n; i += length) {
        length = utf8_sequence_length(name + i, n - i);
        if (length == 0 || name[i] == '/' || (unsigned char) name[i] < ' ' || name[i] == '\x7f')
            return false;
    }
    return true;
}

static int read_dirs(char *const *dirs, struct conf_texts *t, struct problems *p)
{
    return conf_read_dirs((const char *const *) dirs, strv_length(dirs), t, p);
}

/* What is being loaded, with names and paths settled. */
struct loader {
    const struct conf_paths *paths;
    const struct conf_request *request;
    char *instance;
    char *file;
    struct config_builder *builder;
    struct problems *problems; /* the builder's */
};

static void loader_release(struct loader *l)
{
    config_builder_free(l->builder);
    free(l->instance);
    free(l->file);
}

char *conf_name_of_file(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *name = strdup(slash ? slash + 1 : file);

    if (name && str_ends_with(name, ".conf"))
        name[strlen(name) - strlen(".conf")] = '\0';
    return name;
}

/* A user's own file, or drop-ins for it, go before the system's. Owned. */
static char *find_file(const struct conf_paths *p, const char *instance)
{
    if (p->user_dir) {
        _cleanup_free_ char *own = str_format("%s/%s.conf", p->user_dir, instance);
        _cleanup_free_ char *drop_ins = str_format("%s/%s.conf.d", p->user_dir, instance);

        if (!own || !drop_ins)
            return NULL;
        if (access(own, F_OK) == 0 || is_directory(drop_ins))
            return steal_pointer(&own);
    }
    return str_format("%s/%s.conf", p->config_dir, instance);
}

static int settle_names(struct loader *l)
{
    const struct conf_request *req = l->request;

    l->instance = req->instance ? strdup(req->instance) : conf_name_of_file(str_or_empty(req->file));
    if (!l->instance)
        return -ENOMEM;
    l->file = req->file ? strdup(req->file) : find_file(l->paths, l->instance);
    return l->file ? 0 : -ENOMEM;
}

/* An adopted unit has all that it needs on its command line. */
static bool may_lack_file(const struct loader *l)
{
    return l->request->command && !l->request->file && access(l->file, F_OK) < 0 && errno == ENOENT;
}

static int add_texts(struct loader *l, const struct conf_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++) {
        const struct conf_text *t = &texts->items[i];
        int r = config_builder_add_text(l->builder, t->path, t->text, t->len);

        if (r < 0)
            return r;
    }
    return 0;
}

static int add_files(struct loader *l)
{
    _cleanup_free_ char *drop_ins = str_format("%s.d", l->file);
    _cleanup_free_ char *expected = str_format("the configuration of instance %s%s", l->instance,
                                               l->request->file ? "" : ", or a command behind --");
    _cleanup_conf_texts_ struct conf_texts texts = {};
    int r;

    if (!drop_ins || !expected)
        return -ENOMEM;
    r = may_lack_file(l) ? 0 : conf_read_file(l->file, expected, &texts, l->problems);
    if (r < 0)
        return r;
    r = conf_read_dirs((const char *const[]){drop_ins}, 1, &texts, l->problems);
    return r < 0 ? r : add_texts(l, &texts);
}

static int add_options(struct loader *l)
{
    const struct conf_request *req = l->request;
    int r = 0;

    if (req->profile)
        r = config_builder_add_value(l->builder, "Server", "Profile", req->profile);
    if (r >= 0 && req->url)
        r = config_builder_add_value(l->builder, "Server", "URL", req->url);
    for (size_t i = 0; r >= 0 && req->settings && req->settings[i]; i++)
        r = config_builder_add_assignment(l->builder, req->settings[i]);
    if (r >= 0 && req->command)
        r = config_builder_add_command(l->builder, req->command);
    return r;
}

/* "a, b, c" of all profiles that there are, shipped or not. */
static int list_profiles(char *const *dirs, char **ret)
{
    _cleanup_strv_ char **all = NULL;

    for (size_t i = strv_length(dirs); i-- > 0; ) {
        _cleanup_strv_ char **names = NULL;
        int r = conf_list_dir(dirs[i], &names);

        if (r == -ENOMEM)
            return r;
        for (size_t j = 0; names && names[j]; j++) {
            if (!strv_contains(all, names[j]) && strv_push(&all, names[j]) < 0)
                return -ENOMEM;
        }
    }
    *ret = strv_join(all, ", ");
    return *ret ? 0 : -ENOMEM;
}

static int tell_no_profile(struct loader *l, const struct unit_entry *wanted, char *const *dirs)
{
    _cleanup_free_ char *known = NULL;
    int r = list_profiles(dirs, &known);

    if (r < 0)
        return r;
    if (str_empty(known))
        return problems_add(l->problems, wanted->file, wanted->line,
                            "Server.Profile=%s: no such profile; expected %s/%s.conf, and there are no "
                            "profiles in %s either", wanted->value, dirs[1], wanted->value, dirs[0]);
    return problems_add(l->problems, wanted->file, wanted->line,
                        "Server.Profile=%s: no such profile; expected one of %s", wanted->value, known);
}

/* The operator's profile of that name goes before the shipped one. */
static int add_profile_from(struct loader *l, const struct unit_entry *wanted, char *const *dirs)
{
    for (size_t i = strv_length(dirs); i-- > 0; ) {
        _cleanup_conf_texts_ struct conf_texts texts = {};
        _cleanup_free_ char *path = str_format("%s/%s.conf", dirs[i], wanted->value);
        int r;

        if (!path)
            return -ENOMEM;
        if (access(path, F_OK) < 0 && errno == ENOENT)
            continue;
        r = conf_read_file(path, "a profile", &texts, l->problems);
        if (r <= 0)
            return r;
        return config_builder_add_profile(l->builder, path, texts.items[0].text, texts.items[0].len);
    }
    return tell_no_profile(l, wanted, dirs);
}

static int use_profile(struct loader *l, const struct conf_text *t)
{
    _cleanup_free_ char *name = conf_name_of_file(t->path);
    int r = name ? config_builder_settle_profile(l->builder, name) : -ENOMEM;

    return r < 0 ? r : config_builder_add_profile(l->builder, t->path, t->text, t->len);
}

/* Profile=auto: the first profile, by name, that claims the command. */
static int find_profile(struct loader *l, const struct unit_entry *wanted, char *const *dirs)
{
    _cleanup_conf_texts_ struct conf_texts texts = {};
    int r = read_dirs(dirs, &texts, l->problems);

    if (r < 0)
        return r;
    for (size_t i = 0; i < texts.n; i++) {
        r = config_builder_claims(l->builder, texts.items[i].text, texts.items[i].len);
        if (r != 0)
            return r < 0 ? r : use_profile(l, &texts.items[i]);
    }
    return problems_add(l->problems, wanted->file, wanted->line,
                        "Server.Profile=auto: no profile's Match= fits the server's command; expected the "
                        "name of a profile");
}

static int add_profile(struct loader *l)
{
    const struct unit_entry *wanted = config_builder_profile(l->builder);
    _cleanup_strv_ char **dirs = NULL;
    int r = wanted ? places_of(l->paths, "profiles", &dirs) : 0;

    if (!wanted || r < 0)
        return r;
    if (str_equal(wanted->value, CONFIG_PROFILE_AUTO))
        return find_profile(l, wanted, dirs);
    return add_profile_from(l, wanted, dirs);
}

/* systemd tells it to the unit alone; to others it is where the instance's own unit would have them. */
static char *credentials_dir(const char *instance)
{
    const char *given = getenv("CREDENTIALS_DIRECTORY");
    _cleanup_free_ char *unit = unit_name_of(instance);

    if (given)
        return strdup(given);
    return unit ? str_format("/run/credentials/%s", unit) : NULL;
}

static int new_builder(struct loader *l)
{
    const char *name = may_lack_file(l) ? CONFIG_COMMAND_LINE : l->file;
    _cleanup_free_ char *credentials = credentials_dir(l->instance);
    int r = credentials ? config_builder_new(name, l->instance, l->paths->data_dir, &l->builder) : -ENOMEM;

    if (r < 0)
        return r;
    l->problems = config_builder_problems(l->builder);
    return config_builder_set_credentials(l->builder, credentials);
}

static int add_all(struct loader *l)
{
    int r = add_files(l);

    if (r >= 0)
        r = add_options(l);
    if (r >= 0)
        r = add_profile(l);
    return r;
}

static int load(struct loader *l, struct config **ret, char ***ret_errors)
{
    int r = settle_names(l);

    if (r >= 0)
        r = new_builder(l);
    if (r < 0)
        return r;
    if (conf_instance_valid(l->instance))
        r = add_all(l);
    else
        r = problems_add(l->problems, CONFIG_COMMAND_LINE, 0,
                         "\"%.140s\" cannot name an instance; expected 1 to %d bytes without a slash, "
                         "control characters, or a dot in front", l->instance, INSTANCE_MAX_BYTES);
    return r < 0 ? r : config_builder_finish(l->builder, ret, ret_errors);
}

int conf_load(const struct conf_paths *p, const struct conf_request *req, struct config **ret,
              char ***ret_errors)
{
    struct loader l = {.paths = p, .request = req};
    int r = load(&l, ret, ret_errors);

    loader_release(&l);
    return r;
}

/* A classes.conf may be absent. */
static int read_classes(const char *path, struct conf_texts *t, struct problems *p)
{
    int r;

    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    r = conf_read_file(path, "classes of failures", t, p);
    return r < 0 ? r : 0;
}

/* Classes first: signatures name them. */
static int read_catalog(const struct conf_paths *p, struct conf_texts *t, struct problems *problems)
{
    _cleanup_strv_ char **classes = NULL, **signatures = NULL;
    int r = places_of(p, "classes.conf", &classes);

    if (r >= 0)
        r = places_of(p, "signatures", &signatures);
    for (size_t i = 0; r >= 0 && classes && classes[i]; i++)
        r = read_classes(classes[i], t, problems);
    return r < 0 ? r : read_dirs(signatures, t, problems);
}

static int parse_catalog(const struct conf_texts *t, struct catalog **ret, char ***ret_errors)
{
    _cleanup_free_ struct catalog_text *texts = calloc(t->n + 1, sizeof(*texts));

    if (!texts)
        return -ENOMEM;
    for (size_t i = 0; i < t->n; i++)
        texts[i] = (struct catalog_text){
            .file = t->items[i].path,
            .text = t->items[i].text,
            .len = t->items[i].len,
        };
    return catalog_parse(texts, t->n, ret, ret_errors);
}

int conf_load_catalog(const struct conf_paths *p, struct catalog **ret, char ***ret_errors)
{
    _cleanup_conf_texts_ struct conf_texts texts = {};
    _cleanup_problems_ struct problems problems = {};
    int r;

    r = read_catalog(p, &texts, &problems);
    if (r < 0)
        return r;
    if (problems.n > 0) {
        r = problems_steal(&problems, ret_errors);
        return r < 0 ? r : -EINVAL;
    }
    return parse_catalog(&texts, ret, ret_errors);
}
