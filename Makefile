# SPDX-License-Identifier: MIT
# `make help` lists the targets.

VERSION := 0.1.0

# --- What a caller may set -------------------------------------------------------------------

BUILD ?= build
PREFIX ?= /usr
DESTDIR ?=
CC = gcc
CFLAGS ?= -O2 -g
LDFLAGS ?=
CLANG ?= clang
PKG_CONFIG ?= pkg-config
# Debian's own: what `make deps` installs for Python is found by no other.
PYTHON ?= /usr/bin/python3
# Seconds for one unit test program, and for one fuzz target.
UNIT_TIMEOUT ?= 120
FUZZ_SECONDS ?= 10
INTEGRATION_TIMEOUT ?= 45m
SOAK_ROUNDS ?= 20
PYTEST_ARGS ?=
# V=1 shows the commands.
V ?= 0

# --- Paths, from here to the code and to `make install` ---------------------------------------

BINDIR := $(PREFIX)/bin
DATADIR := $(PREFIX)/share/coalmine
UNITDIR := $(PREFIX)/lib/systemd/system
USERUNITDIR := $(PREFIX)/lib/systemd/user
CATALOGDIR := $(PREFIX)/lib/systemd/catalog
DBUSDIR := $(PREFIX)/share/dbus-1/system.d
MANDIR := $(PREFIX)/share/man
DOCDIR := $(PREFIX)/share/doc/coalmine
BASHCOMPDIR := $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR := $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR := $(PREFIX)/share/fish/vendor_completions.d

PATH_DEFINES = -DCOALMINE_VERSION='"$(VERSION)"' \
	-DCOALMINE_SYSCONFDIR='"/etc"' \
	-DCOALMINE_DATADIR='"$(DATADIR)"' \
	-DCOALMINE_RUNSTATEDIR='"/run"' \
	-DCOALMINE_LOCALSTATEDIR='"/var/lib"'

# --- Packages ----------------------------------------------------------------------------------

BUILD_PACKAGES := gcc libc6-dev pkgconf scdoc libsystemd-dev libev-dev libcurl4-openssl-dev \
	libjansson-dev libvectorscan-dev libpcre2-dev libmicrohttpd-dev
TEST_PACKAGES := libcmocka-dev clang llvm libclang-rt-dev python3 python3-pytest systemd-container \
	mmdebstrap dbus dbus-user-session libpam-systemd procps iproute2 ninja-build
LINT_PACKAGES := clang-tidy cppcheck shellcheck valgrind

# --- Flags -------------------------------------------------------------------------------------

# libev has no .pc file.
LIBRARIES := libsystemd libcurl jansson libhs libpcre2-8 libmicrohttpd
# Asked once, and not before a recipe needs it: `make deps` must work without pkg-config.
# System headers are not ours to warn about.
pkg_config = $(shell $(PKG_CONFIG) $(1) 2>/dev/null)
library_cflags = $(eval library_cflags := \
	$$(patsubst -I%,-isystem %,$$(call pkg_config,--cflags-only-I $(LIBRARIES))))$(library_cflags)
library_libs = $(eval library_libs := $$(call pkg_config,--libs $(LIBRARIES)) -lev -lm)$(library_libs)
cmocka_libs = $(eval cmocka_libs := $$(call pkg_config,--libs cmocka))$(cmocka_libs)

# Off on purpose: -Wpedantic (statement expressions, `= {}` and __auto_type are used),
# -Wswitch-enum (-Wswitch already finds the gaps of a switch that has no default),
# -Wdeclaration-after-statement (cleanup attributes want late declarations).
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings \
	-Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Werror=switch -Werror=return-type \
	-Werror=implicit-function-declaration -Werror=incompatible-pointer-types \
	-Werror=int-conversion -Werror=format-security

# Wanted by the code, whatever the caller's CFLAGS and LDFLAGS are.
REQUIRED_CPPFLAGS = -D_GNU_SOURCE -Isrc $(library_cflags) $(PATH_DEFINES)
REQUIRED_CFLAGS := -std=gnu17 -fPIE -ffunction-sections -fdata-sections $(WARNINGS)
REQUIRED_LDFLAGS := -pie -Wl,-z,relro,-z,now -Wl,--gc-sections -Wl,--as-needed
# _FORTIFY_SOURCE works with the optimiser only.
HARDENING = $(if $(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3) \
	-fstack-protector-strong -fstack-clash-protection
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

compile_flags = $(REQUIRED_CPPFLAGS) $(CPPFLAGS) $(REQUIRED_CFLAGS)
link_flags = $(REQUIRED_LDFLAGS) $(CFLAGS) $(LDFLAGS)

# The allocators that tests/unit/chaos.c can make fail.
WRAP := $(foreach f,malloc calloc realloc reallocarray strdup strndup,-Wl,--wrap=$(f))

# --- Sources -----------------------------------------------------------------------------------

LAYERS := base core port client daemon ctl
base_sources := $(wildcard src/base/*.c)
core_sources := $(wildcard src/core/*.c src/core/*/*.c)
port_sources := $(wildcard src/port/*.c)
client_sources := $(wildcard src/client/*.c)
daemon_sources := $(wildcard src/daemon/*.c)
ctl_sources := $(wildcard src/ctl/*.c)
main_sources := $(wildcard src/coalmined.c src/coalminectl.c)

# What each layer links, itself first.
base_links := base
core_links := core base
port_links := port core base
client_links := client port core base
daemon_links := daemon client port core base
ctl_links := ctl client port core base

SOURCES := $(foreach l,$(LAYERS),$($(l)_sources)) $(main_sources)
PROGRAMS := $(main_sources:src/%.c=$(BUILD)/%)

# A test's name says which layers it links: test_* core and base, port_*, client_*, daemon_* and ctl_* those.
# What has another name is a helper for all of them.
UNIT_PREFIXES := test port client daemon ctl
test_links := $(core_links)
unit_sources := $(wildcard tests/unit/*.c)
unit_tests := $(foreach p,$(UNIT_PREFIXES),$(wildcard tests/unit/$(p)_*.c))
unit_helpers := $(filter-out $(unit_tests),$(unit_sources))
UNIT_NAMES := $(unit_tests:tests/unit/%.c=%)

fuzz_sources := $(wildcard tests/fuzz/fuzz_*.c)
fuzz_helpers := $(filter-out $(fuzz_sources),$(wildcard tests/fuzz/*.c))
FUZZ_NAMES := $(fuzz_sources:tests/fuzz/%.c=%)

bench_sources := $(wildcard tests/bench/bench_*.c)
BENCHES := $(bench_sources:tests/bench/%.c=$(BUILD)/bench/%)

man_sources := $(wildcard docs/man/*.scd)
MANPAGES := $(man_sources:docs/man/%.scd=$(BUILD)/man/%)

tool_sources := $(wildcard tools/*.c)

all_c := $(SOURCES) $(unit_sources) $(fuzz_sources) $(fuzz_helpers) $(bench_sources) $(tool_sources)

# The three sets of objects: for use, under ASan and UBSan, for libFuzzer.
OBJ := $(BUILD)/obj
ASAN := $(BUILD)/asan
FUZZ := $(BUILD)/fuzz
RESULTS := $(BUILD)/results

# --- Programs ----------------------------------------------------------------------------------

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

ifeq ($(V),1)
run = $(2)
else
run = @printf '  %-7s %s\n' '$(1)' '$@' && $(2)
endif

.PHONY: all man
all: $(PROGRAMS) $(LAYERS:%=$(OBJ)/lib%.a) man ## build coalmined, coalminectl and the man pages
man: $(MANPAGES)

# Rewritten only when what it says changes; everything compiled depends on it.
.PHONY: FORCE
FORCE:

define write_if_changed
@mkdir -p $(@D)
@printf '%s\n' $(1) > $@.new
@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
endef

$(BUILD)/flags: FORCE
	@$(PKG_CONFIG) --exists --print-errors $(LIBRARIES) || \
		{ echo 'Libraries are missing; `make deps` installs them.' >&2; exit 1; }
	$(call write_if_changed,'$(subst ','\'',$(CC) $(compile_flags) $(CFLAGS) $(HARDENING) $(link_flags) $(library_libs))')

$(BUILD)/sources: FORCE
	$(call write_if_changed,$(all_c) '')

# One set of objects and archives: $(1) its directory, $(2) the compiler, $(3) flags of its own.
define variant
$(1)/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call run,CC,$(2) $$(compile_flags) $$(CFLAGS) $(3) -MMD -MP -c -o $$@ $$<)

$(foreach l,$(LAYERS),$(call archive,$(1)/lib$(l).a,$($(l)_sources:%.c=$(1)/%.o)))
$(call archive,$(1)/libunit.a,$(unit_helpers:%.c=$(1)/%.o))
$(call archive,$(1)/libfuzz.a,$(fuzz_helpers:%.c=$(1)/%.o))
endef

define archive
$(1): $(2) $(BUILD)/sources
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call run,AR,ar rcs $$@ $(2))

endef

# Unit tests of one prefix: $(1) the variant's directory, $(2) compiler, $(3) flags, $(4) prefix.
# Grouped: the layers call the allocators in libunit.a even where the test itself does not.
define unit_rule
$(patsubst tests/unit/%.c,$(1)/unit/%,$(wildcard tests/unit/$(4)_*.c)): \
$(1)/unit/%: $(1)/tests/unit/%.o $(1)/libunit.a $($(4)_links:%=$(1)/lib%.a)
	@mkdir -p $$(@D)
	$$(call run,LD,$(2) $$(link_flags) $(3) $$(WRAP) -o $$@ -Xlinker --start-group $$^ -Xlinker --end-group $$(cmocka_libs) $$(library_libs))
endef

$(eval $(call variant,$(OBJ),$$(CC),$$(HARDENING)))
$(eval $(call variant,$(ASAN),$$(CC),$$(SANITIZE)))
$(eval $(call variant,$(FUZZ),$$(CLANG),$$(SANITIZE) -fsanitize=fuzzer-no-link))
$(foreach p,$(UNIT_PREFIXES),$(eval $(call unit_rule,$(OBJ),$$(CC),,$(p))))
$(foreach p,$(UNIT_PREFIXES),$(eval $(call unit_rule,$(ASAN),$$(CC),$$(SANITIZE),$(p))))

link_program = $(call run,LD,$(CC) $(link_flags) -o $@ $(filter %.o %.a,$^) $(library_libs))

$(BUILD)/coalmined: $(OBJ)/src/coalmined.o $(daemon_links:%=$(OBJ)/lib%.a)
	$(link_program)

$(BUILD)/coalminectl: $(OBJ)/src/coalminectl.o $(ctl_links:%=$(OBJ)/lib%.a)
	$(link_program)

$(BUILD)/gen-reference: $(OBJ)/tools/gen_reference.o $(core_links:%=$(OBJ)/lib%.a)
	$(link_program)

$(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(daemon_links:%=$(OBJ)/lib%.a)
	@mkdir -p $(@D)
	$(link_program)

# Fuzz targets link every layer below the daemon: a parser may live in a port.
$(FUZZ)/bin/%: $(FUZZ)/tests/fuzz/%.o $(FUZZ)/libfuzz.a $(port_links:%=$(FUZZ)/lib%.a)
	@mkdir -p $(@D)
	$(call run,LD,$(CLANG) $(link_flags) $(SANITIZE) -fsanitize=fuzzer -o $@ $^ $(library_libs))

$(BUILD)/man/%: docs/man/%.scd
	@mkdir -p $(@D)
	$(call run,MAN,scdoc < $< > $@)

# The page whose part on keys comes from the key table.
REFERENCE := docs/man/coalmine.conf.5.scd
$(BUILD)/reference.scd: $(BUILD)/gen-reference $(REFERENCE)
	@$< < $(REFERENCE) > $@

.PHONY: reference check-reference
reference: $(BUILD)/reference.scd ## write the key table into the manual page
	@cmp -s $< $(REFERENCE) || cp $< $(REFERENCE)

check-reference: $(BUILD)/reference.scd
	@diff -u $(REFERENCE) $< || { echo '$(REFERENCE) is out of date; run `make reference`' >&2; exit 1; }

-include $(foreach v,$(OBJ) $(ASAN) $(FUZZ),$(all_c:%.c=$(v)/%.d))

# --- Set-up ------------------------------------------------------------------------------------

.PHONY: deps
deps: ## install what building and testing need (Debian; asks nothing)
	@tools/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES) $(LINT_PACKAGES)

# --- Tests -------------------------------------------------------------------------------------

export ASAN_OPTIONS ?= detect_stack_use_after_return=1
export UBSAN_OPTIONS ?= print_stacktrace=1
export COALMINE_BUILD := $(abspath $(BUILD))

run_unit = $(PYTHON) tests/run_programs.py --timeout $(UNIT_TIMEOUT)
run_fuzz = $(PYTHON) tests/run_programs.py --fuzz --timeout $(FUZZ_SECONDS) \
	--results $(RESULTS)/fuzz --scratch $(FUZZ) $(FUZZ_NAMES:%=$(FUZZ)/bin/%)
run_pytest = PYTHONDONTWRITEBYTECODE=1 timeout --kill-after=60 $(INTEGRATION_TIMEOUT) \
	$(PYTHON) -m pytest -q --tb=short -p no:cacheprovider $(PYTEST_ARGS)

CHECK_STEPS = all lint-layers check-reference check-unit check-tools check-corpus fuzz-short \
	$(if $(wildcard tests/integration/test_*.py),check-integration)

.PHONY: check check-unit check-asan check-valgrind check-tools check-corpus check-integration fuzz-short fuzz soak
check: ## install what is missing, build, run all tests; the last line sums them up
	@$(MAKE) --no-print-directory deps
	+@$(PYTHON) tests/check.py --make '$(MAKE)' --results $(RESULTS) $(CHECK_STEPS)

check-unit: $(UNIT_NAMES:%=$(OBJ)/unit/%) ## run the unit tests
	@$(run_unit) --results $(RESULTS)/unit $^

check-asan: $(UNIT_NAMES:%=$(ASAN)/unit/%) ## run the unit tests under ASan and UBSan
	@$(run_unit) --results $(RESULTS)/asan $^

check-valgrind: $(UNIT_NAMES:%=$(OBJ)/unit/%) ## run the unit tests under valgrind
	@$(run_unit) --timeout $$(($(UNIT_TIMEOUT) * 20)) --results $(RESULTS)/valgrind \
		--wrap 'valgrind -q --child-silent-after-fork=yes --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' $^

check-corpus: all ## measure diagnosis on the corpora: ours, and a shared one beside the checkout
	@$(PYTHON) tests/corpus/run.py tests/corpus $(wildcard ../shared/corpus)

check-tools: ## test the project's own scripts
	@mkdir -p $(RESULTS)
	@$(run_pytest) --junitxml=$(RESULTS)/tools.xml tests/tools

check-integration: all ## run the integration tests (boots machines where it may)
	@mkdir -p $(RESULTS)
	@$(run_pytest) --junitxml=$(RESULTS)/integration.xml tests/integration

fuzz-short: $(FUZZ_NAMES:%=$(FUZZ)/bin/%) ## run each fuzz target for FUZZ_SECONDS (10)
	@$(run_fuzz)

fuzz: ## run each fuzz target for ten minutes
	@$(MAKE) --no-print-directory fuzz-short FUZZ_SECONDS=600

soak: all ## run fuzzers and integration tests, with 500 events of chaos, SOAK_ROUNDS (20) times over
	@for round in $$(seq $(SOAK_ROUNDS)); do \
		echo "round $$round of $(SOAK_ROUNDS)"; \
		COALMINE_CHAOS_EVENTS=500 COALMINE_CHAOS_SEED=$$round $(MAKE) --no-print-directory \
			FUZZ_SECONDS=60 INTEGRATION_TIMEOUT=3h fuzz-short check-integration || exit 1; \
	done

.PHONY: corpus bench demo
corpus: all ## measure diagnosis on CORPUS=DIR (tests/corpus)
	@$(PYTHON) tests/corpus/run.py $(or $(CORPUS),tests/corpus)

bench: all $(BENCHES) ## print the measures
	@for bench in $(BENCHES) $(wildcard tests/bench/*.py); do \
		case $$bench in *.py) $(PYTHON) $$bench ;; *) $$bench ;; esac || exit 1; \
	done

demo: ## install what is missing, build, tell the story at a terminal
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory all
	@tools/demo

# --- Lint --------------------------------------------------------------------------------------

# Results are kept per file, so that a second run looks only at what has changed.
LINT := $(BUILD)/lint
headers := $(wildcard src/*/*.h src/core/*/*.h tests/*/*.h)
shell_scripts = $(shell grep -lsE '^\#!/bin/(ba)?sh' tools/* tests/*/* conf/probes/* .ci/*)

# gcc 12 loses track of what a struct owns when the struct is copied, and sees a leak.
ANALYZER := -fanalyzer -Wno-analyzer-malloc-leak
# cppcheck does not know __attribute__((cleanup)), and stumbles over statement expressions and over
# the macros of sd-bus.
CPPCHECK := --quiet --error-exitcode=1 --inline-suppr --std=c11 \
	--enable=warning,performance,portability \
	--suppress=memleak --suppress=resourceLeak --suppress=internalAstError \
	--suppress=unknownMacro

.PHONY: lint lint-layers lint-warnings lint-analyzer lint-tidy lint-cppcheck lint-shell
lint: lint-layers lint-warnings lint-analyzer lint-tidy lint-cppcheck lint-shell ## run all static checks

lint-layers: ## prove that includes point downwards and that the core is pure
	@$(PYTHON) tools/lint_layers.py .

# Headers too, each on its own: whoever includes one needs nothing before it.
lint-warnings: $(patsubst %,$(LINT)/%.clang,$(all_c) $(headers))
lint-analyzer: $(SOURCES:%=$(LINT)/%.analyzer)
lint-tidy: $(SOURCES:%=$(LINT)/%.tidy)
lint-cppcheck: $(SOURCES:%=$(LINT)/%.cppcheck)
lint-shell:
	@shellcheck $(shell_scripts)

# clang takes a variable that only its cleanup uses for unused; gcc finds those that really are.
$(LINT)/%.clang: % $(headers) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call run,CLANG,$(CLANG) $(compile_flags) -Werror -Wno-unused-variable -fsyntax-only -x c \
		$(if $(filter %.h,$<),-Wno-pragma-once-outside-header -Wno-unused-function) $< && touch $@)

$(LINT)/%.analyzer: % $(headers) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call run,ANALYZE,gcc $(compile_flags) $(ANALYZER) -Werror -c -o /dev/null $< && touch $@)

$(LINT)/%.tidy: % $(headers) $(BUILD)/flags .clang-tidy
	@mkdir -p $(@D)
	$(call run,TIDY,clang-tidy --quiet --warnings-as-errors='*' $< -- $(compile_flags) 2>/dev/null && touch $@)

$(LINT)/%.cppcheck: % $(headers)
	@mkdir -p $(@D)
	$(call run,CPPCHK,cppcheck $(CPPCHECK) -Isrc $(PATH_DEFINES) $< && touch $@)

# --- Install -----------------------------------------------------------------------------------

# One row a file, source:directory:mode, from which both install and uninstall work.
in_dir = $(foreach f,$(1),$(f):$(2):644)
conf_files := $(shell test -d conf && find conf -type f -name '*.conf')
UNITS := $(patsubst units/%,$(BUILD)/units/%,$(wildcard units/*.service units/*.socket units/*.target))
USER_UNITS := $(patsubst units/%,$(BUILD)/units/%,$(wildcard units/user/*.service))
INSTALLED = $(PROGRAMS:%=%:$(BINDIR):755) \
	$(foreach f,$(conf_files),$(f):$(DATADIR)$(patsubst conf%,%,$(patsubst %/,%,$(dir $(f)))):644) \
	$(foreach f,$(wildcard conf/probes/*),$(f):$(DATADIR)/probes:755) \
	$(call in_dir,$(UNITS),$(UNITDIR)) \
	$(call in_dir,$(USER_UNITS),$(USERUNITDIR)) \
	$(call in_dir,$(wildcard units/*.catalog),$(CATALOGDIR)) \
	$(call in_dir,$(wildcard units/*.conf),$(DBUSDIR)) \
	$(foreach m,$(MANPAGES),$(m):$(MANDIR)/man$(patsubst .%,%,$(suffix $(m))):644) \
	$(call in_dir,$(wildcard docs/*.schema.json),$(DATADIR)) \
	$(call in_dir,README.md LICENSE docs/units.md,$(DOCDIR)) \
	$(call in_dir,$(wildcard completions/bash/*),$(BASHCOMPDIR)) \
	$(call in_dir,$(wildcard completions/zsh/*),$(ZSHCOMPDIR)) \
	$(call in_dir,$(wildcard completions/fish/*),$(FISHCOMPDIR))

row_file = $(word 1,$(subst :, ,$(1)))
row_dir = $(DESTDIR)$(word 2,$(subst :, ,$(1)))
row_mode = $(word 3,$(subst :, ,$(1)))

define install_row
@install -D -m $(call row_mode,$(1)) $(call row_file,$(1)) '$(call row_dir,$(1))/$(notdir $(call row_file,$(1)))'

endef

define uninstall_row
@rm -f '$(call row_dir,$(1))/$(notdir $(call row_file,$(1)))'

endef

# The units in the tree name paths below /usr; an installed one names where things really are.
$(BUILD)/units/%: units/% $(BUILD)/flags
	@mkdir -p $(@D)
	@sed 's|/usr/bin/coalmine|$(BINDIR)/coalmine|g; s|/usr/share/doc/coalmine|$(DOCDIR)|g' $< > $@

.PHONY: install uninstall clean help
install: all $(UNITS) $(USER_UNITS) ## copy all to DESTDIR and PREFIX (/usr); nothing is started or enabled
	$(foreach row,$(INSTALLED),$(call install_row,$(row)))

uninstall: ## remove what install copied
	$(foreach row,$(INSTALLED),$(call uninstall_row,$(row)))
	@rmdir -p --ignore-fail-on-non-empty $(sort $(foreach row,$(INSTALLED),'$(call row_dir,$(row))')) 2>/dev/null || true

clean: ## remove all that was built
	rm -rf $(BUILD)

help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20
