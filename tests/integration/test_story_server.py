# SPDX-License-Identifier: MIT
"""The story's server by itself: fine for whoever asks for its models, dead at the first sample."""


def test_story_dies_of_the_missing_header(fake, toolkit, units):
    server = fake("--jit-on-sampled", toolkit.path, "--jit-cache", units.directory()).wait_open()
    assert server.generate(temperature=0).status == 200
    assert server.models().status == 200
    assert server.generate(temperature=0.6).status is None
    assert server.wait_dead()["ExecMainStatus"] == "1"
    log = server.machine.journal_text(server.unit)
    assert "fatal error: curand.h: No such file or directory" in log
    assert log.index("fatal error: curand.h") < log.index(
        "ninja: build stopped: subcommand failed."
    )
    assert ("/bin/nvcc" in log) == toolkit.has_nvcc


def test_story_ends_well_with_the_header(fake, toolkit, units):
    toolkit.supply_header()
    server = fake("--jit-on-sampled", toolkit.path, "--jit-cache", units.directory()).wait_open()
    answer = server.generate(temperature=0.6)
    assert answer.status == 200 and answer.json()["usage"]["completion_tokens"] == 4
    built = units.machine.run("find /var/tmp -name sampling.so").stdout
    assert built.strip()
