/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "chaos.h"
#include "core/config/unitfile.h"
#include "port/conf_files.h"
#include "port/conf_read.h"
#include "scratch.h"
#include "world.h"

#define MINIMAL "[Server]\nCommand=/bin/server\nURL=http://h:1\n"

/* TOP/etc is the configuration, TOP/share the data directory. */
struct tree {
    char *top;
    int fd;
    struct conf_paths paths;
};

static int set_up(void **state)
{
    struct tree *t = calloc(1, sizeof(*t));
    _cleanup_free_ char *etc = NULL, *share = NULL;

    assert_non_null(t);
    t->top = scratch_new();
    t->fd = open(t->top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(t->fd >= 0);
    etc = str_format("%s/etc", t->top);
    share = str_format("%s/share", t->top);
    assert_int_equal(mkdirat(t->fd, "etc", 0755), 0);
    assert_int_equal(mkdirat(t->fd, "share", 0755), 0);
    assert_int_equal(conf_paths_init(&t->paths, etc, share), 0);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tree *t = *state;

    conf_paths_release(&t->paths);
    close_fd(t->fd);
    scratch_remove(t->top);
    free(t);
    return 0;
}

/* Writes a file and the directory that it stands in, if need be. */
static void put(const struct tree *t, const char *name, const char *text)
{
    _cleanup_free_ char *dir = strdup(name);

    for (char *slash = strchr(dir, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdirat(t->fd, dir, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    scratch_write(t->fd, name, text, strlen(text));
}

static struct config *loaded(const struct tree *t, const struct conf_request *req)
{
    _cleanup_strv_ char **errors = NULL;
    struct config *c = NULL;
    int r = conf_load(&t->paths, req, &c, &errors);

    if (errors)
        fail_msg("%s", errors[0]);
    assert_int_equal(r, 0);
    return c;
}

/* The directories that `user` has as home and configuration; NULL: unset. */
static void be_user(const char *home, const char *config_home)
{
    assert_int_equal(home ? setenv("HOME", home, 1) : unsetenv("HOME"), 0);
    assert_int_equal(config_home ? setenv("XDG_CONFIG_HOME", config_home, 1) : unsetenv("XDG_CONFIG_HOME"), 0);
}

static void a_users_directory_is_found(void **state unused)
{
    static const struct {
        const char *home, *config_home, *expected;
    } rows[] = {
        { "/home/a", NULL, "/home/a/.config/coalmine" },
        { "/home/a", "", "/home/a/.config/coalmine" },
        { "/home/a", "/elsewhere", "/elsewhere/coalmine" },
        { NULL, NULL, NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_conf_paths_ struct conf_paths users = {}, others = {};

        be_user(rows[i].home, rows[i].config_home);
        assert_int_equal(conf_paths_find(true, &users), 0);
        assert_row(rows[i].expected ? rows[i].expected : "none", str_equal(users.user_dir, rows[i].expected));
        assert_int_equal(conf_paths_find(false, &others), 0);
        assert_null(others.user_dir);
    }
    be_user("/root", NULL);
}

/* The lines of a failed load, with TOP in place of the scratch directory. */
static char *refused(const struct tree *t, const struct conf_request *req)
{
    _cleanup_strv_ char **errors = NULL;
    struct strbuf b = {};
    struct config *c = NULL;
    char *text;

    assert_int_equal(conf_load(&t->paths, req, &c, &errors), -EINVAL);
    assert_null(c);
    for (size_t i = 0; errors[i]; i++) {
        const char *rest = errors[i];

        for (const char *at; (at = strstr(rest, t->top)); rest = at + strlen(t->top)) {
            strbuf_append_n(&b, rest, (size_t) (at - rest));
            strbuf_append(&b, "TOP");
        }
        strbuf_appendf(&b, "%s\n", rest);
    }
    text = strbuf_steal(&b);
    assert_non_null(text);
    return text;
}

static void reads_file_drop_ins_and_profile(void **state)
{
    const struct tree *t = *state;
    _cleanup_(config_freep) struct config *c = NULL;

    put(t, "etc/k26.conf", "[Server]\nCommand=/bin/server %i %D\nProfile=eng\n[Live]\nFall=4\nRise=4\n");
    put(t, "etc/k26.conf.d/20-b.conf", "[Live]\nRise=6\n");
    put(t, "etc/k26.conf.d/10-a.conf", "[Live]\nFall=5\nRise=5\n");
    put(t, "etc/k26.conf.d/.hidden.conf", "garbage\n");
    put(t, "etc/k26.conf.d/30-c.conf.dpkg-old", "garbage\n");
    put(t, "share/profiles/eng.conf", "[Server]\nURL=http://h:1\n[Live]\nFall=9\n");
    c = loaded(t, &(struct conf_request){.instance = "k26"});
    assert_string_equal(c->server.url, "http://h:1");
    assert_int_equal(c->live.fall, 5);
    assert_int_equal(c->live.rise, 6);
    assert_string_equal(c->server.command[1], "k26");
    assert_string_equal(c->server.command[2], t->paths.data_dir);
}

static void command_line_wins(void **state)
{
    const struct tree *t = *state;
    _cleanup_(config_freep) struct config *c = NULL;
    const struct conf_request req = {
        .instance = "k26",
        .profile = "eng",
        .url = "http://u:2",
        .settings = WORLD_VECTOR("Live.Fall=8", "Canary greedy.MaxTokens=3"),
        .command = WORLD_VECTOR("./a", "%b"),
    };

    put(t, "etc/k26.conf", MINIMAL "Profile=other\n[Live]\nFall=4\n");
    put(t, "share/profiles/eng.conf", "[Server]\nModel=m\n");
    c = loaded(t, &req);
    assert_string_equal(c->server.profile, "eng");
    assert_string_equal(c->server.model, "m");
    assert_string_equal(c->server.url, "http://u:2");
    assert_int_equal(c->live.fall, 8);
    assert_int_equal(config_canary(c, "greedy")->max_tokens, 3);
    assert_string_equal(c->server.command[0], "./a");
    assert_string_equal(c->server.command[1], "%b");
}

static void command_line_needs_no_file(void **state)
{
    const struct tree *t = *state;
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_free_ char *text = NULL;
    struct conf_request req = {.instance = "k26", .url = "http://u:2", .command = WORLD_VECTOR("a")};

    put(t, "etc/k26.conf.d/a.conf", "[Live]\nFall=5\n");
    c = loaded(t, &req);
    assert_int_equal(c->live.fall, 5);

    req.url = NULL;
    text = refused(t, &req);
    assert_string_equal(text, "command line: URL= is missing in [Server]; expected http://HOST:PORT, "
                              "https://HOST:PORT or unix:/PATH\n");
}

/* The operator's profile of a name goes before the shipped one here, too. */
static void profile_is_found_from_the_command(void **state)
{
    static const struct {
        const char *command, *profile, *url;
    } rows[] = {
        {"/opt/bin/vllm", "vllm", "http://h:1"},
        {"/opt/bin/sglang", "sglang", "http://h:3"},
    };
    const struct tree *t = *state;
    _cleanup_free_ char *text = NULL;
    struct conf_request req = {.instance = "k26", .profile = "auto"};

    put(t, "share/profiles/vllm.conf", "[Profile]\nMatch=/vllm$\n[Server]\nURL=http://h:1\n");
    put(t, "share/profiles/sglang.conf", "[Profile]\nMatch=/vllm$\n[Server]\nURL=http://h:2\n");
    put(t, "etc/profiles/sglang.conf", "[Profile]\nMatch=/sglang$\n[Server]\nURL=http://h:3\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(config_freep) struct config *c = NULL;

        req.command = WORLD_VECTOR(rows[i].command);
        c = loaded(t, &req);
        assert_string_equal(c->server.profile, rows[i].profile);
        assert_string_equal(c->server.url, rows[i].url);
    }
    req.command = WORLD_VECTOR("/bin/true");
    req.url = "http://h:1";
    text = refused(t, &req);
    assert_string_equal(text, "command line: Server.Profile=auto: no profile's Match= fits the server's "
                              "command; expected the name of a profile\n");
}

static void operators_profile_goes_before(void **state)
{
    const struct tree *t = *state;
    _cleanup_(config_freep) struct config *c = NULL;

    put(t, "etc/k26.conf", "[Server]\nCommand=/bin/server\nProfile=eng\n");
    put(t, "share/profiles/eng.conf", "[Server]\nURL=http://shipped:1\nModel=m\n");
    put(t, "etc/profiles/eng.conf", "[Server]\nURL=http://own:1\n");
    c = loaded(t, &(struct conf_request){.instance = "k26"});
    assert_string_equal(c->server.url, "http://own:1");
    assert_null(c->server.model);
}

static void a_users_files_go_before(void **state)
{
    struct tree *t = *state;
    _cleanup_(config_freep) struct config *own = NULL, *systems = NULL, *dropped = NULL;
    _cleanup_(catalog_freep) struct catalog *catalog = NULL;
    _cleanup_strv_ char **errors = NULL;

    t->paths.user_dir = str_format("%s/home", t->top);
    put(t, "etc/k26.conf", MINIMAL "[Live]\nFall=4\n");
    put(t, "etc/k27.conf", MINIMAL "[Live]\nFall=4\n");
    put(t, "etc/profiles/eng.conf", "[Server]\nURL=http://systems:1\n");
    put(t, "home/k26.conf", "[Server]\nCommand=/bin/server\nProfile=eng\n[Live]\nFall=6\n");
    put(t, "home/profiles/eng.conf", "[Server]\nURL=http://users:1\n");
    put(t, "home/k28.conf.d/a.conf", "[Live]\nFall=7\n");
    own = loaded(t, &(struct conf_request){.instance = "k26"});
    assert_int_equal(own->live.fall, 6);
    assert_string_equal(own->server.url, "http://users:1");
    systems = loaded(t, &(struct conf_request){.instance = "k27"});
    assert_int_equal(systems->live.fall, 4);
    dropped = loaded(t, &(struct conf_request){.instance = "k28", .url = "http://u:2",
                                               .command = WORLD_VECTOR("a")});
    assert_int_equal(dropped->live.fall, 7);
    put(t, "home/classes.conf", "[Class mine]\nText=a class of my own\nRetry=never\nRepeat=1\n");
    assert_int_equal(conf_load_catalog(&t->paths, &catalog, &errors), 0);
    assert_non_null(catalog_class(catalog, "mine"));
}

static void file_by_its_path(void **state)
{
    const struct tree *t = *state;
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_free_ char *path = str_format("%s/else/big.conf", t->top);

    put(t, "else/big.conf", "[Server]\nCommand=/bin/server %i\nURL=http://h:1\n");
    put(t, "else/big.conf.d/a.conf", "[Live]\nFall=5\n");
    c = loaded(t, &(struct conf_request){.file = path});
    assert_string_equal(c->server.command[1], "big");
    assert_int_equal(c->live.fall, 5);
    config_free(c);
    c = loaded(t, &(struct conf_request){.file = path, .instance = "x"});
    assert_string_equal(c->server.command[1], "x");
}

static void masked_drop_ins_are_passed_over(void **state)
{
    const struct tree *t = *state;
    _cleanup_(config_freep) struct config *c = NULL;

    put(t, "etc/k26.conf", MINIMAL);
    put(t, "etc/k26.conf.d/a.conf", "[Live]\nFall=5\n");
    assert_int_equal(symlinkat("/dev/null", t->fd, "etc/k26.conf.d/b.conf"), 0);
    c = loaded(t, &(struct conf_request){.instance = "k26"});
    assert_int_equal(c->live.fall, 5);
}

static void tells_what_cannot_be_read(void **state)
{
    const struct {
        const char *make; /* a shell command in TOP */
        struct conf_request request;
        const char *expected;
    } rows[] = {
        {"true", {.instance = "k26"},
         "TOP/etc/k26.conf: no such file; expected the configuration of instance k26, or a command behind "
         "--\n"},
        {"mkdir etc/k26.conf", {.instance = "k26"},
         "TOP/etc/k26.conf: a directory; expected the configuration of instance k26, or a command behind "
         "--\n"},
        {"mkfifo etc/k26.conf", {.instance = "k26"},
         "TOP/etc/k26.conf: not a regular file; expected the configuration of instance k26, or a command "
         "behind --\n"},
        {"truncate -s 4194305 etc/k26.conf", {.instance = "k26"},
         "TOP/etc/k26.conf: larger than 4 MiB; expected the configuration of instance k26, or a command "
         "behind --\n"},
        {"printf '[Server]\\nCommand=/a\\nProfile=en\\n' >etc/k26.conf; mkdir share/profiles; "
         "touch share/profiles/eng.conf", {.instance = "k26"},
         "TOP/etc/k26.conf:3: Server.Profile=en: no such profile; expected one of eng\n"},
        {"rm -r share/profiles; mkdir etc/profiles; touch etc/profiles/own.conf; mkdir share/profiles; "
         "touch share/profiles/own.conf share/profiles/eng.conf", {.instance = "k26"},
         "TOP/etc/k26.conf:3: Server.Profile=en: no such profile; expected one of own, eng\n"},
        {"rm -r */profiles", {.instance = "k26"},
         "TOP/etc/k26.conf:3: Server.Profile=en: no such profile; expected TOP/etc/profiles/en.conf, and "
         "there are no profiles in TOP/share/profiles either\n"},
        {"mkdir -p share/profiles/en.conf", {.instance = "k26"},
         "TOP/share/profiles/en.conf: a directory; expected a profile\n"},
        {"true", {.instance = "../etc/k26"},
         "command line: \"../etc/k26\" cannot name an instance; expected 1 to 128 bytes without a slash, "
         "control characters, or a dot in front\n"},
        {"true", {.file = "/nonexistent/x.conf"},
         "/nonexistent/x.conf: no such file; expected the configuration of instance x\n"},
        {"true", {.file = "/nonexistent/x.conf", .command = WORLD_VECTOR("a"), .url = "http://h:1"},
         "/nonexistent/x.conf: no such file; expected the configuration of instance x\n"},
        {"true", {},
         "command line: \"\" cannot name an instance; expected 1 to 128 bytes without a slash, control "
         "characters, or a dot in front\n"},
    };
    const struct tree *t = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *command = str_format("cd '%s' && { %s; }", t->top, rows[i].make);
        _cleanup_free_ char *text = NULL;

        assert_int_equal(system(command), 0);
        text = refused(t, &rows[i].request);
        assert_string_equal(text, rows[i].expected);
        if (i < 4)
            assert_true(unlinkat(t->fd, "etc/k26.conf", i == 1 ? AT_REMOVEDIR : 0) == 0 || i == 0);
    }
}

static int load_as_nobody(void *data)
{
    const struct tree *t = data;
    _cleanup_strv_ char **errors = NULL;
    struct config *c = NULL;

    if (setresuid(65534, 65534, 65534) < 0)
        return 2;
    if (conf_load(&t->paths, &(struct conf_request){.instance = "k26"}, &c, &errors) != -EINVAL)
        return 3;
    return strstr(errors[0], "permission denied; expected a file that user 65534 may read") ? 0 : 4;
}

static void tells_what_may_not_be_read(void **state)
{
    struct tree *t = *state;

    if (geteuid() != 0)
        skip();
    put(t, "etc/k26.conf", MINIMAL);
    assert_int_equal(fchmodat(t->fd, "etc/k26.conf", 0600, 0), 0);
    assert_int_equal(fchmodat(t->fd, ".", 0755, 0), 0);
    assert_int_equal(world_in_process(load_as_nobody, t), 0);
}

static void instance_names(void unused **state)
{
    static const struct {
        const char *name;
        bool valid;
    } rows[] = {
        {"k26", true}, {"a-b.c_d@e", true}, {"caf\xc3\xa9", true}, {"a b", true}, {"", false},
        {".a", false}, {"..", false}, {"a/b", false}, {"a\nb", false}, {"\xff", false}, {"a\x7f", false},
    };
    char longest[130];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_row(rows[i].name, conf_instance_valid(rows[i].name) == rows[i].valid);
    memset(longest, 'x', sizeof(longest));
    longest[128] = '\0';
    assert_true(conf_instance_valid(longest));
    longest[128] = 'x';
    longest[129] = '\0';
    assert_false(conf_instance_valid(longest));
}

static void later_directories_override(void **state)
{
    const struct tree *t = *state;
    _cleanup_free_ char *one = str_format("%s/one", t->top), *two = str_format("%s/two", t->top);
    _cleanup_conf_texts_ struct conf_texts texts = {};
    _cleanup_problems_ struct problems p = {};

    put(t, "one/b.conf", "b1");
    put(t, "one/a.conf", "a1");
    put(t, "one/c.conf", "c1");
    put(t, "two/b.conf", "b2");
    put(t, "two/d.conf", "d2");
    assert_int_equal(symlinkat("/dev/null", t->fd, "two/c.conf"), 0);
    assert_int_equal(conf_read_dirs((const char *const[]){one, "/nonexistent", two}, 3, &texts, &p), 0);
    assert_int_equal(p.n, 0);
    assert_int_equal(texts.n, 3);
    assert_string_equal(texts.items[0].text, "a1");
    assert_true(str_ends_with(texts.items[0].path, "/one/a.conf"));
    assert_string_equal(texts.items[1].text, "b2");
    assert_string_equal(texts.items[2].text, "d2");
}

static void unreadable_directories_are_told(void **state)
{
    const struct tree *t = *state;
    _cleanup_free_ char *loop = str_format("%s/loop", t->top);
    _cleanup_conf_texts_ struct conf_texts texts = {};
    _cleanup_problems_ struct problems p = {};

    assert_int_equal(symlinkat("loop", t->fd, "loop"), 0);
    assert_int_equal(conf_read_dirs((const char *const[]){loop}, 1, &texts, &p), 0);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.items[0].text, "symbolic links; expected a directory of *.conf files"));
}

static void number_of_files_is_bounded(void **state)
{
    const struct tree *t = *state;
    _cleanup_free_ char *dir = str_format("%s/many", t->top);
    _cleanup_conf_texts_ struct conf_texts texts = {};
    _cleanup_problems_ struct problems p = {};

    for (unsigned i = 0; i <= CONF_MAX_FILES; i++) {
        _cleanup_free_ char *name = str_format("many/%u.conf", i);

        put(t, name, "");
    }
    assert_int_equal(conf_read_dirs((const char *const[]){dir}, 1, &texts, &p), 0);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.items[0].text, "more than 1000 files; expected fewer"));
    assert_int_equal(texts.n, 0);
}

static void own_catalog_adds_to_the_shipped(void **state)
{
    const struct tree *t = *state;
    _cleanup_(catalog_freep) struct catalog *c = NULL;
    _cleanup_strv_ char **errors = NULL;

    put(t, "share/classes.conf", "[Class gone]\nText=it is gone\nRetry=never\n");
    put(t, "etc/classes.conf", "[Class gone]\nRetry=slow\n[Class here]\nText=it is here\n");
    put(t, "share/signatures/a.conf", "[Signature one]\nClass=gone\nPattern=it is gone\n");
    put(t, "share/signatures/b.conf", "garbage");
    put(t, "etc/signatures/b.conf", "[Signature two]\nClass=here\nPattern=it is here\n");
    if (conf_load_catalog(&t->paths, &c, &errors) < 0)
        fail_msg("%s", errors[0]);
    assert_int_equal(catalog_class(c, "gone")->policy.retry, RETRY_SLOW);
    assert_non_null(catalog_signature(c, "one"));
    assert_non_null(catalog_signature(c, "two"));
}

static void catalogs_mistakes_are_told(void **state)
{
    const struct tree *t = *state;
    _cleanup_strv_ char **errors = NULL, **more = NULL;
    struct catalog *c = NULL;

    put(t, "share/classes.conf", "[Class gone]\nText=it is gone\n");
    put(t, "etc/signatures/b.conf", "[Signature two]\nClass=missing\nPattern=it is here\n");
    assert_int_equal(conf_load_catalog(&t->paths, &c, &errors), -EINVAL);
    assert_non_null(strstr(errors[0], "/etc/signatures/b.conf:"));
    assert_int_equal(mkdirat(t->fd, "etc/classes.conf", 0755), 0);
    assert_int_equal(conf_load_catalog(&t->paths, &c, &more), -EINVAL);
    assert_non_null(strstr(more[0], "/etc/classes.conf: a directory; expected classes of failures"));
    assert_null(c);
}

static void relative_directories_become_absolute(void unused **state)
{
    _cleanup_conf_paths_ struct conf_paths p = {};
    _cleanup_free_ char *here = realpath(".", NULL), *data = NULL;

    data = str_format("%s/conf", here);
    assert_int_equal(conf_paths_init(&p, NULL, "conf"), 0);
    assert_string_equal(p.config_dir, "/etc/coalmine");
    assert_string_equal(p.data_dir, data);
}

static int load_rich(void *data)
{
    const struct tree *t = data;
    _cleanup_(config_freep) struct config *c = NULL;
    _cleanup_strv_ char **errors = NULL;
    const struct conf_request req = {.instance = "k26", .settings = WORLD_VECTOR("Live.Fall=8")};

    return conf_load(&t->paths, &req, &c, &errors);
}

static void survives_lack_of_memory(void **state)
{
    struct tree *t = *state;

    put(t, "etc/k26.conf", "[Server]\nCommand=/bin/server\nProfile=eng\n");
    put(t, "etc/k26.conf.d/a.conf", "[Live]\nRise=6\n");
    put(t, "share/profiles/eng.conf", "[Server]\nURL=http://h:1\n");
    assert_true(chaos_each(load_rich, t) > 100);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        with_tree(reads_file_drop_ins_and_profile),
        with_tree(command_line_wins),
        with_tree(command_line_needs_no_file),
        with_tree(profile_is_found_from_the_command),
        with_tree(operators_profile_goes_before),
        with_tree(file_by_its_path),
        with_tree(masked_drop_ins_are_passed_over),
        with_tree(tells_what_cannot_be_read),
        with_tree(tells_what_may_not_be_read),
        with_tree(a_users_files_go_before),
        cmocka_unit_test(a_users_directory_is_found),
        cmocka_unit_test(instance_names),
        with_tree(later_directories_override),
        with_tree(unreadable_directories_are_told),
        with_tree(number_of_files_is_bounded),
        with_tree(own_catalog_adds_to_the_shipped),
        with_tree(catalogs_mistakes_are_told),
        cmocka_unit_test(relative_directories_become_absolute),
        with_tree(survives_lack_of_memory),
    };

    return cmocka_run_group_tests_name("conf files", tests, NULL, NULL);
}
