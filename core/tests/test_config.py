"""A configuration is right as a whole, or one error lists everything that is wrong with it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeagent import BrokenPlugin, ConfigError
from nodeagent.config import Config, load, structured
from nodeagent.config.hidden import redacted
from nodeagent.plugins import load_provider

if TYPE_CHECKING:
    from core.tests.conftest import Site

SECRET = "hunter2-äß"  # noqa: S105 - the one secret of these tests
MAIN = '[backends.main]\nprovider = "alpha"\n'


@pytest.fixture(autouse=True)
def alpha(site: Site) -> None:
    """One provider that offers everything."""
    site.install("alpha", site.full)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of a project."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def _load(home: Path, text: str, **environ: str) -> Config:
    (home / "nodeagent.toml").write_text(text, "utf-8")
    return load(home, environ)


def _problems(home: Path, text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        _load(home, text, **environ)
    assert SECRET not in f"{caught.value!s}{caught.value!r}{caught.value.__notes__}"
    return list(caught.value.problems)


# --- the whole ------------------------------------------------------------------------------------


def test_a_configuration_says_what_it_says(home: Path, site: Site) -> None:
    """Every key arrives where it belongs."""
    site.install("blobs", site.store + site.artifacts)
    text = """
        app = "billing.agent:app"
        backend = "main"
        namespace = "billing"
        [backends.main]
        provider = "alpha"
        password = { env = "PW" }
        pool = 5
        tags = ["a", "b"]
        timeout = 2
        [backends.store]
        provider = "blobs"
        [ports]
        artifacts = "store"
        [worker]
        concurrency = 4
        lease_ms = 30000
        poll_ms = 500
        lane_by_tenant = true
    """

    config = _load(home, text, PW=SECRET)

    assert (config.app, config.backend, config.namespace) == ("billing.agent:app", "main", "billing")
    assert dict(config.backends["main"].settings) == {
        "password": SECRET,
        "pool": 5,
        "tags": ["a", "b"],
        "timeout": 2,
    }
    assert config.ports == {"artifacts": "store"}
    assert (config.worker.concurrency, config.worker.lease_ms, config.worker.poll_ms) == (4, 30_000, 500)
    assert config.worker.lane_by_tenant
    assert config.source == home / "nodeagent.toml"
    assert config.describe() == (
        f"the backend is 'main' (alpha) with namespace 'billing', as configured in {home / 'nodeagent.toml'}"
    )


def test_one_error_lists_every_problem_with_its_path(home: Path) -> None:
    """The three faults of the design's example come together, each with what was probably meant."""
    text = 'bakend = "x"\nnamespace = 7\n[backends.main]\nprovider = "alhpa"\n'

    problems = _problems(home, text)

    assert problems == [
        "bakend: there is no such key; did you mean 'backend'?",
        "namespace: must be a string, but is an integer",
        (
            "backends.main.provider: no installed distribution offers the provider 'alhpa';"
            " installed: 'alpha'; did you mean 'alpha'?"
        ),
    ]


def test_the_error_names_the_file(home: Path) -> None:
    """A file of a directory above may be the one that counts, so it is named."""
    with pytest.raises(ConfigError) as caught:
        _load(home, "namespace = 7")

    assert caught.value.__notes__ == [f"read from {home / 'nodeagent.toml'}"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('namespce = "x"', "namespce: there is no such key; did you mean 'namespace'?"),
        ('"a b" = 1', '"a b": there is no such key'),
        ('namespace = ""', "namespace: must not be empty"),
        ("namespace = true", "namespace: must be a string, but is a boolean"),
        ('namespace = { env = "X" }', ("namespace: must be a string, but is a table; a reference is written"
         ' { env = "NAME" } or { file = "path" }')),
        ("app = 1", "app: must be a string, but is an integer"),
        ('app = "billing"', "app: must be written \"package.module:object\", but is 'billing'"),
        ('app = "a b:c"', "app: must be written \"package.module:object\", but is 'a b:c'"),
        ('backend = "mian"', "backend: there is no backend 'mian'; configured: 'main'; did you mean 'main'?"),
        ("backend = 1", "backend: must be a string, but is an integer"),
        ("observers = 'x'", "observers: must be an array, but is a string"),
        ("observers = [1]", "observers[0]: must be a string, but is an integer"),
        ("observers = ['x']", "observers[0]: no installed distribution offers the extension 'x'; installed: none"),
        ("ports = 1", "ports: must be a table, but is an integer"),
        ("[ports]\nartifact = 'main'", "ports.artifact: there is no such port; did you mean 'artifacts'?"),
        ("[ports]\nartifacts = 1", "ports.artifacts: must be a string, but is an integer"),
        ("[ports]\nartifacts = 'man'", "ports.artifacts: there is no backend 'man'; did you mean 'main'?"),
        ("[ports]\nscheduler = 'main'", ("ports.scheduler: is a part of the ledger, which comes as a whole from the"
         " selected backend")),
        ("[ports]\nmodel = 'main'", "ports.model: the provider 'alpha' of the backend 'main' offers no model"),
        ("[worker]\nlease_second = 5", "worker.lease_second: there is no such key; did you mean 'lease_ms'?"),
        ("[worker]\nlease_ms = 999", "worker.lease_ms: is refused: lease_ms must be from 1000 to 86400000, but is 999"),
        ("[worker]\nconcurrency = 0", "worker.concurrency: is refused: concurrency must be from 1 to 10000, but is 0"),
        ("[worker]\nconcurrency = true", "worker.concurrency: must be an integer, but is a boolean"),
        ("[worker]\nconcurrency = 2.0", "worker.concurrency: must be an integer, but is a float"),
        ("[worker]\nlane_by_tenant = 1", "worker.lane_by_tenant: must be a boolean, but is an integer"),
        ("worker = []", "worker: must be a table, but is an array"),
    ],
)  # fmt: skip
def test_every_fault_has_its_path(home: Path, text: str, problem: str) -> None:
    """At every level: unknown keys with the nearest valid name, wrong types without coercion."""
    assert _problems(home, f"{text}\n{MAIN}") == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "backends.main.provider: is required, but it is missing"),
        ("provider = 1", "backends.main.provider: must be a string, but is an integer"),
        ("provider = 'alpha'\npasswrd = 'x'", "backends.main.passwrd: there is no such key; did you mean 'password'?"),
        ("provider = 'alpha'\npool = '5'", "backends.main.pool: must be an integer, but is a string"),
        ("provider = 'alpha'\npool = 100", "backends.main.pool: is refused: 'pool' must be < 100: 100"),
        ("provider = 'alpha'\npath = 1", "backends.main.path: must be a string, but is an integer"),
        ("provider = 'alpha'\npath = ''", "backends.main.path: must be the path of a file or folder, but is a string"),
        ("provider = 'alpha'\ntags = 'abc'", "backends.main.tags: must be an array, but is a string"),
        ("provider = 'alpha'\ntags = ['a', 1]", "backends.main.tags[1]: must be a string, but is an integer"),
        ("provider = 'alpha'\ntimeout = '1'", "backends.main.timeout: must be a float, but is a string"),
        ("provider = 'alpha'\ntimeout = true", "backends.main.timeout: must be a float, but is a boolean"),
        ("provider = 'alpha'\npassword = 2024-01-01", "backends.main.password: must be a string, but is a date"),
        ("provider = 'alpha'\npassword = { evn = 'X' }", ("backends.main.password: must be a string, but is a table;"
         ' a reference is written { env = "NAME" } or { file = "path" }')),
        ("provider = 'alpha'\npassword = { env = 'PW' }", ("backends.main.password: the environment variable 'PW' is"
         " not set")),
        ("provider = 'alpha'\npassword = { env = 'EMPTY' }", ("backends.main.password: the environment variable"
         " 'EMPTY' is empty")),
        ("provider = 'alpha'\ntags = ['a', { env = 'PW' }]", ("backends.main.tags[1]: the environment variable 'PW'"
         " is not set")),
        ("provider = 'alpha'\npassword = { file = 'pw' }", ("backends.main.password: the file 'pw' cannot be read:"
         " No such file or directory")),
        ("provider = 'alpha'\npassword = { file = '.' }", ("backends.main.password: the file '.' cannot be read:"
         " Is a directory")),
    ],
)  # fmt: skip
def test_every_fault_of_a_backend_has_its_path(home: Path, text: str, problem: str) -> None:
    """The provider's own settings are checked with the same strictness."""
    assert _problems(home, f"[backends.main]\n{text}", EMPTY="") == [problem]


def test_validators_speak_beside_wrong_types(home: Path) -> None:
    """A wrong type in one key hides no refusal of another."""
    problems = _problems(home, MAIN + "pool = 100\ntags = 1\npath = 2\nnope = 3\n[worker]\npoll_ms = 1\nlease_ms = 1")

    assert [problem.split(": ")[0] for problem in problems] == [
        "worker.lease_ms",
        "worker.poll_ms",
        "backends.main.path",
        "backends.main.tags",
        "backends.main.pool",
        "backends.main.nope",
    ]


def test_a_backends_entry_must_be_a_table(home: Path) -> None:
    """A name of TOML that needs quotes gets them in the path."""
    assert _problems(home, 'backend = "a.b"\n[backends]\n"a.b" = 1\n') == [
        'backends."a.b": must be a table, but is an integer'
    ]


# --- which backend --------------------------------------------------------------------------------


def test_the_only_backend_need_not_be_named(home: Path) -> None:
    """One is one."""
    assert _load(home, MAIN).backend == "main"


def test_one_of_several_backends_must_be_named(home: Path) -> None:
    """Nothing is chosen by its place in the file."""
    assert _problems(home, f'{MAIN}[backends.other]\nprovider = "alpha"') == [
        "backend: is required to name one of 'main', 'other'"
    ]


def test_a_backend_that_is_not_selected_may_be_of_another_machine(home: Path) -> None:
    """Its provider need not be installed, and its secrets need not be there."""
    other = '[backends.other]\nprovider = "postgres"\ndsn = { env = "DSN" }\n'

    config = _load(home, f'backend = "main"\n{MAIN}{other}')

    assert config.provider == "alpha"
    assert config.backends["other"].settings == {"dsn": {"env": "DSN"}}


def test_the_environment_overrides_the_name(home: Path) -> None:
    """And an argument overrides the environment."""
    text = f'backend = "main"\n{MAIN}[backends.other]\nprovider = "alpha"\n[backends.third]\nprovider = "alpha"'

    assert _load(home, text, NODEAGENT_BACKEND="other").backend == "other"
    assert load(home, {"NODEAGENT_BACKEND": "other"}, backend="third").backend == "third"


def test_an_unknown_name_in_the_environment_is_a_problem(home: Path) -> None:
    """It names the variable, not a key of the file."""
    assert _problems(home, MAIN, NODEAGENT_BACKEND="mian") == [
        "NODEAGENT_BACKEND: there is no backend 'mian'; configured: 'main'; did you mean 'main'?"
    ]


def test_a_provider_without_a_ledger_cannot_be_selected(home: Path, site: Site) -> None:
    """It says what the provider is good for."""
    site.install("blobs", site.store + site.artifacts)

    assert _problems(home, '[backends.main]\nprovider = "blobs"') == [
        (
            "backends.main.provider: 'blobs' offers artifact_store but no ledger,"
            " so it can serve [ports] but cannot be the selected backend"
        )
    ]


def test_a_ledger_without_artifacts_needs_somebody_who_stores_them(home: Path, site: Site) -> None:
    """The problem says what to add, and adding it helps."""
    site.install("bare", site.store + site.ledger)
    site.install("files", site.store + site.artifacts)
    bare = '[backends.main]\nprovider = "bare"\n'

    assert _problems(home, bare) == [
        (
            "ports.artifacts: the provider 'bare' stores no artifacts; add [backends.blobs] with"
            ' provider = "files", and artifacts = "blobs" under [ports]'
        )
    ]
    added = 'backend = "main"\n[ports]\nartifacts = "blobs"\n[backends.blobs]\nprovider = "files"\n'
    assert _load(home, added + bare).ports == {"artifacts": "blobs"}


def test_a_broken_provider_is_a_problem_with_its_cause(home: Path, site: Site) -> None:
    """The sentence of the plugin's error stands at its path, and the error is chained."""
    site.install("broken", "import nothing_of_this_name")

    with pytest.raises(ConfigError) as caught:
        _load(home, 'namespace = 1\n[backends.main]\nprovider = "broken"')

    assert isinstance(caught.value.__cause__, BrokenPlugin)
    assert caught.value.problems[1].startswith(
        "backends.main.provider: the provider 'broken' of nodeagent-broken 1.0 is broken: importing"
    )


def test_a_provider_with_a_useless_schema_is_a_problem(home: Path, site: Site) -> None:
    """Its settings cannot be checked, so it is broken."""
    site.install("broken", site.full.replace("return Settings", "return dict"))

    (problem,) = _problems(home, '[backends.main]\nprovider = "broken"')

    assert problem.startswith(
        "backends.main.provider: the provider 'broken' of nodeagent-broken 1.0 is broken: nodeage"
    )


@pytest.mark.parametrize("fault", ["duplicate", "future"])
def test_duplicate_and_incompatible_providers_are_problems(home: Path, site: Site, fault: str) -> None:
    """Each is told in the plugin's own sentence."""
    future = "NODEAGENT_API = 99\n" if fault == "future" else ""
    site.install("beta", future + site.full)
    if fault == "duplicate":
        site.install("Beta", site.full, distribution="takeover")

    (problem,) = _problems(home, '[backends.main]\nprovider = "beta"')

    assert problem.startswith("backends.main.provider: the provider ")
    assert ("takeover 1.0" if fault == "duplicate" else "plugin API 99") in problem


def test_observers_are_extensions_that_observe(home: Path, site: Site) -> None:
    """An extension that only adds commands cannot be named, and none twice."""
    source = "from nodeagent import hookimpl\n@hookimpl\ndef nodeagent_{}: ...\n"
    site.install("trail", source.format("observe(event)"), group="nodeagent.extensions")
    site.install("tools", source.format("commands(cli)"), group="nodeagent.extensions")

    assert _load(home, f'observers = ["trail"]\n{MAIN}').observers == ("trail",)
    assert _problems(home, f'observers = ["trail", "tools", "trail"]\n{MAIN}') == [
        "observers[1]: the extension 'tools' observes nothing",
        "observers[2]: 'trail' is named twice",
    ]


# --- where it is found ----------------------------------------------------------------------------


def test_without_a_file_it_is_sqlite_and_says_so(home: Path, site: Site) -> None:
    """The default is durable, in the working directory, and never memory."""
    site.install("sqlite", site.full)

    config = load(home, {})

    assert (config.backend, config.provider, config.source) == ("sqlite", "sqlite", None)
    assert dict(config.backends["sqlite"].settings) == {"path": ".nodeagent/nodeagent.db"}
    assert config.describe() == "no configuration was found, so the backend is SQLite at ./.nodeagent/nodeagent.db"
    assert list(home.iterdir()) == []


def test_without_a_file_and_without_sqlite_nothing_else_is_taken(home: Path) -> None:
    """Nothing falls back in silence: the problem says which package is missing."""
    with pytest.raises(ConfigError) as caught:
        load(home, {})

    assert list(caught.value.problems) == [
        (
            "backends.sqlite.provider: no installed distribution offers the provider 'sqlite';"
            " installed: 'alpha'; pip install nodeagent-sqlite adds it"
        )
    ]
    assert caught.value.__notes__ == ["no configuration was found"]


def test_a_file_without_backends_has_the_default_one(home: Path, site: Site) -> None:
    """The other keys of the file hold."""
    site.install("sqlite", site.full)

    config = _load(home, 'namespace = "billing"')

    assert (config.provider, config.namespace) == ("sqlite", "billing")


def test_pyproject_is_read_when_it_speaks_of_us(home: Path) -> None:
    """``nodeagent.toml`` beside it counts first."""
    text = (
        f'[project]\nname = "x"\n[tool.nodeagent]\nnamespace = "from-project"\n{MAIN.replace("[", "[tool.nodeagent.")}'
    )
    (home / "pyproject.toml").write_text(text, "utf-8")

    assert load(home, {}).namespace == "from-project"
    assert load(home, {}).source == home / "pyproject.toml"
    assert _load(home, f'namespace = "own"\n{MAIN}').namespace == "own"


@pytest.mark.parametrize("text", ["[tool.other]\n", "this is no TOML", "[tool]\nnodeagents = 1"])
def test_a_project_file_that_does_not_speak_of_us_is_passed_over(home: Path, site: Site, text: str) -> None:
    """What is wrong with it is not ours to judge."""
    site.install("sqlite", site.full)
    (home / "pyproject.toml").write_text(text, "utf-8")

    assert load(home, {}).source is None


def test_the_nearest_directory_above_counts(home: Path) -> None:
    """A command means the same in every subdirectory, paths included."""
    inner = home / "a" / "b"
    inner.mkdir(parents=True)
    (home / "pw").write_text(f"{SECRET}\n", "utf-8")
    _load(home, f"{MAIN}path = 'data/x.db'\npassword = {{ file = 'pw' }}")

    config = load(inner, {})

    assert config.source == home / "nodeagent.toml"
    settings = structured(load_provider("alpha"), config.backends["main"].settings, folder=config.folder)
    assert settings.path == home / "data" / "x.db"  # type: ignore[attr-defined]
    assert settings.password == SECRET  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners of files")
def test_a_file_above_that_belongs_to_somebody_else_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would name the code that is run; naming it is trusting it."""
    _load(home, MAIN)
    inner = home / "inner"
    inner.mkdir()
    owner = (home / "nodeagent.toml").stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner == 0:
        monkeypatch.setattr("nodeagent.config.places._TRUSTED", ())

    with pytest.raises(
        ConfigError, match=r"nodeagent.toml: belongs to another user; if you trust it, let NODEAGENT_CO"
    ):
        load(inner, {})
    assert load(home, {}).backend == "main"
    assert load(inner, {"NODEAGENT_CONFIG": "../nodeagent.toml"}).backend == "main"


def test_the_environment_can_name_the_file(home: Path, tmp_path: Path) -> None:
    """A name is relative to the working directory; a project file needs its table."""
    _load(home, f'namespace = "wrong"\n{MAIN}')
    (tmp_path / "other.toml").write_text(f'namespace = "other"\n{MAIN}', "utf-8")

    assert load(home, {"NODEAGENT_CONFIG": "../other.toml"}).namespace == "other"
    assert load(home, {"NODEAGENT_CONFIG": str(tmp_path / "other.toml")}).namespace == "other"


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("gone.toml", "NODEAGENT_CONFIG: there is no file '{home}/gone.toml'"),
        ("", "NODEAGENT_CONFIG: is empty; unset it, or let it name a file"),
        (".", "{home}: cannot be read: Is a directory"),
        ("pyproject.toml", "NODEAGENT_CONFIG: '{home}/pyproject.toml' has no table [tool.nodeagent]"),
    ],
)
def test_a_named_file_must_be_one(home: Path, named: str, problem: str) -> None:
    """Nothing else is read instead."""
    (home / "pyproject.toml").write_text("", "utf-8")

    with pytest.raises(ConfigError) as caught:
        load(home, {"NODEAGENT_CONFIG": named})

    assert list(caught.value.problems) == [problem.format(home=home)]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a = 1\na = 2\n", "is not valid TOML: Cannot overwrite a value (at line 2, column 6)"),
        (b"a = 1\nb\n", "is not valid TOML: Expected '=' after a key in a key/value pair (at line 2, column 2)"),
        (b"[a]\n[a]\n", "is not valid TOML: Cannot declare ('a',) twice (at line 2, column 3)"),
        (b"a = 'x'\nb = '\xff'\n", "is not UTF-8 (at line 2)"),
        (b"a = " + b"[" * 100_000, "is nested too deeply"),
        (b"#" * (1024 * 1024 + 1), "is larger than 1048576 bytes, so it is no configuration"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_one_problem_with_its_line(home: Path, data: bytes, problem: str) -> None:
    """File, line and fault, and no traceback of the parser."""
    path = home / "nodeagent.toml"
    path.write_bytes(data)

    with pytest.raises(ConfigError) as caught:
        load(home, {})

    assert list(caught.value.problems) == [f"{path}: {problem}"]


def test_an_integer_with_too_many_digits_is_a_problem(home: Path) -> None:
    """Python refuses to parse it with an error that is not the TOML parser's."""
    (home / "nodeagent.toml").write_text("a = " + "9" * 5000, "utf-8")

    with pytest.raises(ConfigError, match="is not valid TOML: Exceeds the limit"):
        load(home, {})


def test_a_directory_of_that_name_is_a_problem(home: Path) -> None:
    """It is not passed over."""
    (home / "nodeagent.toml").mkdir()

    with pytest.raises(ConfigError, match=r"nodeagent.toml: cannot be read: Is a directory"):
        load(home, {})


def test_a_dangling_link_is_a_problem(home: Path) -> None:
    """Somebody meant it to be there."""
    (home / "nodeagent.toml").symlink_to("gone")

    with pytest.raises(ConfigError, match=r"nodeagent.toml: cannot be read: No such file or directory"):
        load(home, {})


def test_an_editor_of_windows_may_have_written_it(home: Path) -> None:
    """A byte order mark and its line ends are no fault."""
    (home / "nodeagent.toml").write_bytes(b"\xef\xbb\xbf" + f'namespace = "x"\n{MAIN}'.replace("\n", "\r\n").encode())

    assert load(home, {}).namespace == "x"


# --- the environment ------------------------------------------------------------------------------


def test_an_unknown_variable_with_our_prefix_is_a_problem(home: Path) -> None:
    """It was probably meant to be one of ours."""
    assert _problems(home, MAIN, NODEAGENT_BAKEND="main") == [
        "NODEAGENT_BAKEND: nodeagent has no such environment variable; did you mean 'NODEAGENT_BACKEND'?"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "NODEAGENTS",
        "MY_NODEAGENT_X",
        "nodeagent_x",
        "NODEAGENT_TEST_POSTGRES",
        "NODEAGENT_CONFORMANCE_SEED",
        "NODEAGENT_REPORTS",
        "NODEAGENT_SERVICE_HOST",
        "NODEAGENT_WORKER_SERVICE_PORT_HTTP",
        "NODEAGENT_PORT",
        "NODEAGENT_WORKER_PORT_8080_TCP_ADDR",
    ],
)
def test_unrelated_variables_are_nobodys_problem(home: Path, name: str) -> None:
    """Also those that Kubernetes makes for a service whose name begins like ours."""
    assert _load(home, MAIN, **{name: "x"}).backend == "main"


def test_a_variable_that_a_reference_names_is_known(home: Path) -> None:
    """Also in a backend that is not selected."""
    other = '[backends.other]\nprovider = "x"\nkeys = [{ env = "NODEAGENT_KEY" }]\n'
    text = f'backend = "main"\n{MAIN}password = {{ env = "NODEAGENT_PW" }}\n{other}'

    assert _load(home, text, NODEAGENT_PW="x", NODEAGENT_KEY="y").backend == "main"


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("written", "read"), [("x\n", "x"), ("x\r\n", "x"), ("x\n\n", "x\n"), (" x ", " x ")])
def test_one_line_end_at_the_end_of_a_secrets_file_does_not_count(home: Path, written: str, read: str) -> None:
    """Editors add it; anything else belongs to the secret."""
    (home / "pw").write_bytes(written.encode())

    assert _load(home, f"{MAIN}password = {{ file = 'pw' }}").backends["main"].settings["password"] == read


def test_a_secrets_file_must_be_text(home: Path) -> None:
    """Bytes that are not UTF-8 are not guessed at."""
    (home / "pw").write_bytes(b"\xff\xfe")

    assert _problems(home, f"{MAIN}password = {{ file = 'pw' }}") == [
        "backends.main.password: the file 'pw' cannot be read as UTF-8 text"
    ]


def test_a_table_with_more_keys_is_no_reference(home: Path) -> None:
    """So a provider may have nested settings that happen to have such a key."""
    (problem,) = _problems(home, f"{MAIN}password = {{ env = 'PW', file = 'pw' }}")

    assert problem.startswith("backends.main.password: must be a string, but is a table")


def test_no_settings_value_is_shown_by_anything(home: Path) -> None:
    """Resolved or literal, a value is in no repr and no str."""
    config = _load(home, f"{MAIN}password = {{ env = 'PW' }}\ntags = ['{SECRET}']", PW=SECRET)
    settings = config.backends["main"].settings

    for thing in (config, config.backends, config.backends["main"], settings):
        assert SECRET not in f"{thing}{thing!r}"
    assert repr(settings) == "<values of password, tags>"
    assert SECRET not in config.describe()


def test_a_validators_words_are_told_without_the_values(home: Path, site: Site) -> None:
    """Validators put what was refused into their messages."""
    validator = "validators.matches_re('[a-z]+')"
    site.install("strict", site.full.replace('default="", repr=False', f"validator={validator}, repr=False"))
    strict = '[backends.main]\nprovider = "strict"\n'

    for text in ("password = { env = 'PW' }", f"password = '{SECRET}'"):
        (problem,) = _problems(home, f"{strict}{text}", PW=SECRET)
        assert problem.startswith("backends.main.password: is refused: 'password' must match regex")


def test_a_schemas_own_check_of_the_whole_is_told(home: Path, site: Site) -> None:
    """Whatever it raises is a problem at the backend's path, without the values."""
    check = "    def __attrs_post_init__(self):\n        raise LookupError(self.password)\n\nclass Connection:"
    site.install("strict", site.full.replace("\nclass Connection:", check, 1))

    assert _problems(home, f"[backends.main]\nprovider = 'strict'\npassword = '{SECRET}'") == [
        "backends.main: is refused with LookupError: …"
    ]


def test_redacting_takes_every_spelling() -> None:
    """A quoted value is escaped, and the longest one goes first."""
    short, long = "x\\y", "x\\y\nz"
    settings = {"a": short, "b": [long], "c": {"d": "pw"}}

    assert redacted(f"{short!r} {long!r} pw", settings) == "'…' '…' …"


# --- what a schema can ask for --------------------------------------------------------------------

SCHEMA = """
import enum
from typing import Any, Literal
from attrs import frozen

class Mode(enum.Enum):
    FAST = "fast"
    SAFE = "safe"

@frozen
class Tls:
    ca: str
    depth: int = 1

@frozen(kw_only=True)
class Settings:
    mode: Mode = Mode.FAST
    level: Literal[1, 2] = 1
    either: int | str = 0
    pair: tuple[int, str] = (1, "a")
    numbers: list[int] = []
    labels: dict[str, str] = {}
    tls: Tls | None = None
    hosts: frozenset[str] = frozenset()
    anything: Any = None
    on: bool = False
"""


@pytest.fixture
def rich(site: Site) -> None:
    """A provider whose schema has every kind of field."""
    start, end = site.full.index("@frozen"), site.full.index("class Connection")
    site.install("rich", "from nodeagent import Capabilities, hookimpl\nCLOSED = []\n" + SCHEMA + site.full[end:])
    assert start < end


@pytest.mark.usefixtures("rich")
def test_a_schema_may_be_rich(home: Path) -> None:
    """Enums, choices, unions, nested classes and containers."""
    text = """
        mode = "safe"
        level = 2
        either = "x"
        pair = [3, "b"]
        numbers = [1, 2]
        labels = { a = "b" }
        tls = { ca = "x", depth = 2 }
        hosts = ["h"]
        anything = [1, { a = true }]
        on = true
    """
    config = _load(home, f'[backends.main]\nprovider = "rich"\n{text}')

    found = structured(load_provider("rich"), config.backends["main"].settings)

    assert repr(found) == (
        "Settings(mode=<Mode.SAFE: 'safe'>, level=2, either='x', pair=(3, 'b'), numbers=[1, 2], labels={'a': 'b'},"
        " tls=Tls(ca='x', depth=2), hosts=frozenset({'h'}), anything=[1, {'a': True}], on=True)"
    )


@pytest.mark.usefixtures("rich")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("mode = 'fsat'", "mode: must be one of 'fast', 'safe', but is a string"),
        ("level = true", "level: must be one of 1, 2, but is a boolean"),
        ("either = 1.5", "either: must be a string, but is a float"),
        ("pair = [1]", "pair: must be an array of 2, but is an array"),
        ("pair = [1, 2]", "pair[1]: must be a string, but is an integer"),
        ("numbers = [1, true]", "numbers[1]: must be an integer, but is a boolean"),
        ("labels = { a = 1 }", "labels.a: must be a string, but is an integer"),
        ("labels = []", "labels: must be a table, but is an array"),
        ("tls = { depht = 1, ca = 'x' }", "tls.depht: there is no such key; did you mean 'depth'?"),
        ("tls = { depth = 1 }", "tls.ca: is required, but it is missing"),
        ("tls = 'x'", "tls: must be a table, but is a string"),
        ("on = 1", "on: must be a boolean, but is an integer"),
    ],
)
def test_a_rich_schema_is_as_strict(home: Path, text: str, problem: str) -> None:
    """Every level has its paths."""
    assert _problems(home, f'[backends.main]\nprovider = "rich"\n{text}') == [f"backends.main.{problem}"]


def test_reading_imports_only_what_is_selected(home: Path, site: Site) -> None:
    """A provider that is configured but not selected does not run."""
    module = site.install("other", "raise SystemExit(1)")

    _load(home, f'backend = "main"\n{MAIN}[backends.other]\nprovider = "other"')

    assert module not in sys.modules


def test_the_working_directory_is_the_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As is the process's environment."""
    for name in [name for name in os.environ if name.startswith("NODEAGENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(home)
    monkeypatch.setenv("PW", SECRET)
    (home / "nodeagent.toml").write_text(f"{MAIN}password = {{ env = 'PW' }}", "utf-8")

    assert load().backends["main"].settings["password"] == SECRET
