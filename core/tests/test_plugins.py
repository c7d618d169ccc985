"""Plugins are found in metadata, imported only when chosen, and told apart in one sentence each."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import BrokenPlugin, Capabilities, DuplicateProvider, IncompatiblePlugin, Unavailable, UnknownProvider
from nodeagent.extensions import Observers
from nodeagent.plugins import (
    LEDGER,
    PORTS,
    installed_extensions,
    installed_providers,
    load_extension,
    load_provider,
    nearest,
    stale_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.conftest import Site


def _why(name: str) -> str:
    """What is wrong with the broken provider ``name`` of version 1.0."""
    with pytest.raises(BrokenPlugin) as caught:
        load_provider(name)
    error = caught.value
    assert (error.distribution, error.version) == (f"nodeagent-{name}", "1.0")
    return str(error).removeprefix(f"the provider {name!r} of nodeagent-{name} 1.0 is broken: ")


# --- finding --------------------------------------------------------------------------------------


def test_listing_imports_nothing(site: Site) -> None:
    """Providers are listed by name, with what their metadata says, and no module of theirs runs."""
    module = site.install("beta", "raise SystemExit(3)")
    site.install("alpha", "raise KeyboardInterrupt", version="2.1")

    found = installed_providers()

    assert [(info.name, info.distribution, info.version) for info in found] == [
        ("alpha", "nodeagent-alpha", "2.1"),
        ("beta", "nodeagent-beta", "1.0"),
    ]
    assert found[1].module == module
    assert all(info.problem is None and info.is_live for info in found)
    assert module not in sys.modules


def test_a_broken_neighbour_disturbs_nobody(site: Site) -> None:
    """Only the chosen provider is imported."""
    site.install("bad", "raise KeyboardInterrupt")
    site.install("worse", "import nothing_of_this_name")
    site.install("good", site.full)

    assert load_provider("good").name == "good"


def test_an_unknown_name_is_told_with_what_is_installed_and_the_nearest(site: Site) -> None:
    """A misspelt name gets the nearest installed one."""
    site.install("alpha", site.full)

    with pytest.raises(UnknownProvider) as caught:
        load_provider("alhpa")

    assert str(caught.value) == (
        "no installed distribution offers the provider 'alhpa'; installed: 'alpha'; did you mean 'alpha'?"
    )


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        ("postgres", "installed: none; pip install nodeagent-postgres adds it"),
        ("sqllite", "installed: none; did you mean 'sqlite'? pip install nodeagent-sqlite adds it"),
        ("quite-else", "installed: none"),
    ],
)
@pytest.mark.usefixtures("site")
def test_providers_of_the_project_are_told_with_the_command_that_adds_them(asked: str, end: str) -> None:
    """Nobody needs to look up the name of a package of ours."""
    with pytest.raises(UnknownProvider) as caught:
        load_provider(asked)

    assert str(caught.value).endswith(end)


def test_two_distributions_with_one_name_are_a_conflict(site: Site) -> None:
    """An installed package never takes over the name of another; both are named."""
    site.install("alpha", site.full)
    site.install("alpha", site.full, distribution="takeover", version="9.9")

    with pytest.raises(DuplicateProvider) as caught:
        load_provider("alpha")

    assert str(caught.value) == (
        "the provider 'alpha' is offered more than once: by nodeagent-alpha 1.0 ('alpha')"
        " and takeover 9.9 ('alpha'); uninstall all but one"
    )
    assert [info.problem for info in installed_providers()] == [
        "also offered by takeover 9.9; uninstall all but one",
        "also offered by nodeagent-alpha 1.0; uninstall all but one",
    ]


@pytest.mark.parametrize("twin", ["Alpha", "ALPHA"])
def test_names_that_differ_only_by_case_are_a_conflict(site: Site, twin: str) -> None:
    """Neither spelling can be chosen, and the other one is named."""
    site.install("alpha", site.full)
    site.install(twin, site.full, distribution="takeover")

    for name in ("alpha", twin):
        with pytest.raises(DuplicateProvider, match=f"takeover 1.0 \\('{twin}'\\)"):
            load_provider(name)


def test_another_spelling_is_not_the_name(site: Site) -> None:
    """A provider has one name; another spelling of it is answered with the right one."""
    site.install("alpha", site.full)

    with pytest.raises(UnknownProvider, match="did you mean 'alpha'"):
        load_provider("ALPHA")


def test_the_first_copy_of_a_distribution_on_the_path_wins(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older copy further down is no conflict; it is reported with its folder."""
    module = site.install("alpha", site.full, version="2.0")
    later = tmp_path / "later"
    stale = site.metadata("nodeagent-alpha", f"alpha = {module}", version="1.0", folder=later)
    monkeypatch.setattr(sys, "path", [*sys.path, str(later)])

    behind, live = installed_providers()

    assert (live.version, live.is_live, live.problem) == ("2.0", True, None)
    assert (behind.version, behind.is_live) == ("1.0", False)
    assert behind.problem is not None
    assert str(stale) in behind.problem
    assert load_provider("alpha").info.version == "2.0"


def test_of_two_versions_in_one_folder_the_newest_counts(site: Site) -> None:
    """The order of a folder's entries is arbitrary, so it decides nothing."""
    module = site.module(site.full)
    for version in ("1.9", "1.10", "1.2"):
        site.metadata("nodeagent-alpha", f"alpha = {module}", version=version)

    assert load_provider("alpha").info.version == "1.10"


def test_a_folder_that_is_on_the_path_twice_is_met_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same metadata is no conflict with itself."""
    site.install("alpha", site.full)
    monkeypatch.setattr(sys, "path", [str(site.folder), str(site.folder / "..") + "/site", *sys.path])

    assert len(installed_providers()) == 1
    assert load_provider("alpha").name == "alpha"


def test_a_leftover_without_metadata_hides_nothing_and_is_reported(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty folder, or one that lost its METADATA, is not a distribution."""
    earlier = tmp_path / "earlier"
    empty = earlier / "nodeagent_alpha-0.9.dist-info"
    empty.mkdir(parents=True)
    module = site.install("alpha", site.full)
    dead = site.metadata("nodeagent-alpha", f"alpha = {module}", version="0.8", folder=earlier, is_whole=False)
    monkeypatch.syspath_prepend(earlier)

    provider = load_provider("alpha")

    assert provider.info.version == "1.0"
    assert stale_metadata() == tuple(f"{path} is left over from a removed package; delete it" for path in (dead, empty))
    assert [info.version for info in installed_providers() if not info.is_live] == ["0.8"]


def test_metadata_of_a_removed_module_is_known_before_any_import(site: Site) -> None:
    """The listing says that the module is not there, and choosing it says so too."""
    site.metadata("nodeagent-alpha", "alpha = module_that_was_removed")

    assert installed_providers()[0].problem == "its module 'module_that_was_removed' is not on the path"
    assert _why("alpha") == (
        "importing 'module_that_was_removed' failed with ModuleNotFoundError: No module named 'module_that_was_removed'"
    )


def test_unreadable_metadata_of_others_is_passed_over(site: Site) -> None:
    """A file of another package that is not UTF-8 hinders nobody."""
    info = site.metadata("other", "x = y", group="other.group")
    (info / "entry_points.txt").write_bytes(b"[nodeagent.providers]\nx = \xff\n")
    site.install("alpha", site.full)

    assert [one.name for one in installed_providers()] == ["alpha"]


# --- importing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "cause", "kind"),
    [
        ("import psycopg_of_nowhere", "ModuleNotFoundError: No module named 'psycopg_of_nowhere'", ModuleNotFoundError),
        ("def broken(:", "SyntaxError: invalid syntax", SyntaxError),
        ("raise SystemExit(3)", "SystemExit: 3", SystemExit),
        ("raise KeyboardInterrupt", "KeyboardInterrupt:", KeyboardInterrupt),
        ("raise RuntimeError('no\\n  luck')", "RuntimeError: no luck", RuntimeError),
    ],
)
def test_whatever_an_import_raises_is_named_and_chained(
    site: Site, source: str, cause: str, kind: type[BaseException]
) -> None:
    """Plugin, distribution and original cause are in one sentence; nothing ends the process."""
    module = site.install("alpha", source)

    with pytest.raises(BrokenPlugin) as caught:
        load_provider("alpha")

    assert f"of nodeagent-alpha 1.0 is broken: importing {module!r} failed with {cause}" in str(caught.value)
    assert isinstance(caught.value.__cause__, kind)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_real_interrupt_goes_through(site: Site) -> None:
    """A user who presses Ctrl-C during a slow import is obeyed."""
    assert threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    site.install("alpha", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)")

    with pytest.raises(KeyboardInterrupt):
        load_provider("alpha")

    assert signal.getsignal(signal.SIGINT) is before


def test_a_missing_object_is_named(site: Site) -> None:
    """An entry point may name an object of a module, which must then be there."""
    module = site.module(site.full)
    site.metadata("nodeagent-alpha", f"alpha = {module}:store")

    assert _why("alpha") == (
        f"importing '{module}:store' failed with AttributeError: module {module!r} has no attribute 'store'"
    )


def test_an_entry_point_that_names_no_module_is_told(site: Site) -> None:
    """The value of an entry point can be anything a build tool wrote."""
    site.metadata("nodeagent-alpha", "alpha = not a module")

    assert installed_providers()[0].problem == "its entry point names no module: 'not a module'"
    assert _why("alpha").endswith("its entry point names no module: 'not a module'")


def test_what_an_import_prints_does_not_reach_stdout(site: Site) -> None:
    """A machine-readable answer on stdout stays whole."""
    site.install("alpha", f"print('NOISE')\n{site.full}")
    code = "from nodeagent.plugins import load_provider; print(load_provider('alpha').name)"
    path = os.pathsep.join([str(site.folder), *sys.path])

    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )

    assert done.stdout == "alpha\n"
    assert "NOISE" in done.stderr


def test_a_provider_can_be_loaded_again(site: Site) -> None:
    """Loading has no memory: the second answer equals the first."""
    site.install("alpha", site.full)

    assert load_provider("alpha").offers == load_provider("alpha").offers


# --- the API number -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoken", "spoken_by_core", "sentence"),
    [
        (2, 1, "speaks plugin API 2, but this nodeagent accepts 1; upgrade nodeagent"),
        (0, 1, "speaks plugin API 0, but this nodeagent accepts 1; upgrade nodeagent-alpha"),
        (1, 3, "speaks plugin API 1, but this nodeagent accepts 2 and 3; upgrade nodeagent-alpha"),
        (4, 3, "speaks plugin API 4, but this nodeagent accepts 2 and 3; upgrade nodeagent"),
    ],
)
def test_another_api_is_refused_naming_both_numbers(
    site: Site, monkeypatch: pytest.MonkeyPatch, spoken: int, spoken_by_core: int, sentence: str
) -> None:
    """The core accepts its own number and the one before."""
    site.install("alpha", f"NODEAGENT_API = {spoken}\n{site.full}")
    monkeypatch.setattr("nodeagent.hookspecs.API_VERSION", spoken_by_core)

    with pytest.raises(IncompatiblePlugin) as caught:
        load_provider("alpha")

    assert str(caught.value) == f"the provider 'alpha' of nodeagent-alpha 1.0 {sentence}"
    assert (caught.value.distribution, caught.value.version) == ("nodeagent-alpha", "1.0")


@pytest.mark.parametrize(("spoken", "spoken_by_core"), [(1, 1), (1, 2), (2, 2)])
def test_the_own_api_and_the_one_before_are_accepted(
    site: Site, monkeypatch: pytest.MonkeyPatch, spoken: int, spoken_by_core: int
) -> None:
    """A plugin may be one number behind."""
    site.install("alpha", f"NODEAGENT_API = {spoken}\n{site.full}")
    monkeypatch.setattr("nodeagent.hookspecs.API_VERSION", spoken_by_core)

    assert load_provider("alpha").has_ledger


def test_an_api_number_is_an_integer(site: Site) -> None:
    """Anything else is a broken plugin, not an old one."""
    site.install("alpha", f"NODEAGENT_API = '1'\n{site.full}")

    assert _why("alpha") == "NODEAGENT_API must be an integer, but is of type str"


# --- hooks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            "def nodeagent_connect",
            "def nodeagent_conect",
            "nodeagent_conect is not a hook of nodeagent; did you mean 'nodeagent_connect'?",
        ),
        (
            "@hookimpl\ndef nodeagent_connect",
            "def nodeagent_connect",
            "nodeagent_connect is not marked as a hook; write @hookimpl above it",
        ),
        (
            "def nodeagent_scheduler(connection)",
            "async def nodeagent_scheduler(connection)",
            "nodeagent_scheduler is asynchronous, but hooks and ports are synchronous",
        ),
        (
            "@hookimpl\ndef nodeagent_settings():\n    return Settings",
            "",
            "it does not implement nodeagent_settings",
        ),
        (
            '@hookimpl\ndef nodeagent_scheduler(connection): return Port("scheduler")\n',
            "",
            "the ledger ports are implemented all or none, but these are missing: nodeagent_scheduler",
        ),
    ],
    ids=["misspelt", "unmarked", "async", "missing", "partial-ledger"],
)
def test_hooks_that_do_not_fit_are_named(site: Site, before: str, after: str, sentence: str) -> None:
    """Without these checks pluggy would let each of these disappear in silence."""
    assert before in site.full
    site.install("alpha", site.full.replace(before, after))

    assert _why("alpha") == sentence


def test_an_argument_that_the_hook_does_not_have_is_named(site: Site) -> None:
    """The hook and the argument are in the message."""
    site.install("alpha", site.full.replace("settings, namespace, clock, ports):", "settings, namespce):"))

    why = _why("alpha")

    assert "nodeagent_connect(settings, namespce)" in why
    assert "{'namespce'}" in why


def test_a_module_without_ports_is_no_provider(site: Site) -> None:
    """Settings and connect alone store nothing."""
    site.install("alpha", site.store)

    assert _why("alpha").startswith("it implements no port; there are 'transactions', ")


def test_the_testbed_of_the_conformance_kit_is_a_hook_of_somebody_else(site: Site) -> None:
    """A provider may carry its own testbed."""
    site.install("alpha", f"{site.full}\n@hookimpl\ndef nodeagent_testbed(settings): ...\n")

    assert load_provider("alpha").has_ledger


def test_single_ports_need_no_ledger(site: Site) -> None:
    """A provider of artifacts alone is whole."""
    site.install("blobs", site.store + site.artifacts)

    provider = load_provider("blobs")

    assert provider.offers == {"artifact_store"}
    assert not provider.has_ledger


def test_every_ledger_port_is_a_port() -> None:
    """The ledger is the first eight."""
    assert set(LEDGER) < set(PORTS)
    assert LEDGER[-1] == "maintenance"


# --- answers --------------------------------------------------------------------------------------


def _module(site: Site, source: str) -> Any:
    return importlib.import_module(site.install("alpha", source))


@pytest.mark.parametrize(
    ("before", "after", "call", "sentence"),
    [
        (
            "return Settings",
            "return dict",
            "settings_type",
            "nodeagent_settings must return an attrs class, but returned a type",
        ),
        (
            "return Settings",
            "return",
            "settings_type",
            "nodeagent_settings must return an attrs class, but returned None",
        ),
        (
            "return Settings",
            "return 1 / 0",
            "settings_type",
            "nodeagent_settings raised ZeroDivisionError, which is not an error of nodeagent",
        ),
        (
            "return Connection(settings",
            "return object() or (settings",
            "connect",
            "nodeagent_connect returned a object, which lacks now, close, __enter__, __exit__",
        ),
        (
            "capabilities = Capabilities()",
            "capabilities = {}",
            "connect",
            "its connection's capabilities must be a Capabilities record",
        ),
        (
            'return Port("scheduler")',
            "return None",
            "port",
            "nodeagent_scheduler returned None, which lacks claim, peek",
        ),
    ],
)
def test_an_answer_that_does_not_fit_breaks_the_plugin(
    site: Site, before: str, after: str, call: str, sentence: str
) -> None:
    """What a hook returns is checked once, where it comes from."""
    assert before in site.full
    module = _module(site, site.full.replace(before, after))
    provider = load_provider("alpha")
    calls: dict[str, Callable[[], object]] = {
        "settings_type": provider.settings_type,
        "connect": lambda: provider.connect(None, "default", None, ()),
        "port": lambda: provider.port("scheduler", module.Connection()),
    }

    with pytest.raises(BrokenPlugin) as caught:
        calls[call]()

    assert str(caught.value) == f"the provider 'alpha' of nodeagent-alpha 1.0 is broken: {sentence}"
    assert ([module.__name__] if "capabilities" in before else []) == module.CLOSED


def test_an_error_of_the_contract_goes_through(site: Site) -> None:
    """A server that is down is no broken plugin."""
    raising = "from nodeagent import Unavailable\n    raise Unavailable('the server is down')"
    site.install("alpha", site.full.replace("return Connection(settings, namespace, clock, ports)", raising))

    with pytest.raises(Unavailable, match="the server is down"):
        load_provider("alpha").connect(None, "default", None, ())


def test_the_text_of_a_drivers_error_is_not_shown(site: Site) -> None:
    """It may hold a connection string; the error itself is chained for whoever debugs."""
    raising = "raise ValueError('postgres://u:hunter2@h')"
    site.install("alpha", site.full.replace("return Connection(settings, namespace, clock, ports)", raising))

    with pytest.raises(BrokenPlugin) as caught:
        load_provider("alpha").connect(None, "default", None, ())

    assert "hunter2" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_provider_without_a_doctor_finds_nothing(site: Site) -> None:
    """The hook is optional, and its answer is checked."""
    site.install("alpha", site.full)
    site.install("beta", f"{site.full}\n@hookimpl\ndef nodeagent_doctor(settings, connection): return ['fine']\n")

    assert load_provider("alpha").doctor(None, None) == ()
    with pytest.raises(BrokenPlugin, match="nodeagent_doctor must return a list of Check, but returned a list"):
        load_provider("beta").doctor(None, None)


def test_a_connection_is_asked_with_everything(site: Site) -> None:
    """Settings, namespace, clock and ports arrive as they were given."""
    module = _module(site, site.full)
    settings = module.Settings()

    connection: Any = load_provider("alpha").connect(settings, "ns", None, ["scheduler"])

    assert connection.asked == (settings, "ns", None, ("scheduler",))
    assert connection.capabilities == Capabilities()


# --- extensions -----------------------------------------------------------------------------------

OBSERVER = "from nodeagent import hookimpl\nSEEN = []\n@hookimpl\ndef nodeagent_observe(event): SEEN.append(event)\n"


def test_an_extension_observes(site: Site) -> None:
    """It is found in a group of its own and imported only when wanted."""
    module = site.install("trail", OBSERVER, group="nodeagent.extensions")

    assert [info.name for info in installed_extensions()] == ["trail"]
    assert installed_providers() == ()
    assert module not in sys.modules
    extension = load_extension("trail")
    extension.observe("event")
    assert extension.offers == {"observe"}
    assert sys.modules[module].SEEN == ["event"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import nothing_of_this_name", "failed with ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("", "it implements neither nodeagent_observe nor nodeagent_commands"),
        (OBSERVER.replace("nodeagent_observe", "nodeagent_obsrve"), "did you mean 'nodeagent_observe'?"),
        (OBSERVER.replace("def ", "async def "), "nodeagent_observe is asynchronous"),
        (OBSERVER.replace("@hookimpl\n", ""), "nodeagent_observe is not marked as a hook"),
    ],
)
def test_a_broken_extension_is_named(site: Site, source: str, sentence: str) -> None:
    """Its faults are told as a provider's are."""
    site.install("trail", source, group="nodeagent.extensions")

    with pytest.raises(BrokenPlugin) as caught:
        load_extension("trail")

    assert str(caught.value).startswith("the extension 'trail' of nodeagent-trail 1.0 is broken: ")
    assert sentence in str(caught.value)


def test_an_observer_that_raises_is_reported_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The others see the event all the same, and the report holds no payload."""
    seen: list[object] = []

    def fail(event: object) -> None:
        raise ValueError(f"secret {event}")

    with caplog.at_level(logging.WARNING, "nodeagent"):
        Observers((("bad", fail), ("good", seen.append)))("payload")

    assert seen == ["payload"]
    assert [record.getMessage() for record in caplog.records] == [
        "the observer 'bad' failed on an event str with ValueError; nothing was changed"
    ]


@pytest.mark.parametrize(
    ("name", "choices", "expected"),
    [
        ("bakend", ["backend", "backends"], "backend"),
        ("NameSpace", ["namespace"], "namespace"),
        ("zebra", ["backend"], None),
        ("anything", [], None),
    ],
)
def test_the_nearest_name(name: str, choices: list[str], expected: str | None) -> None:
    """What somebody typed is compared without case."""
    assert nearest(name, choices) == expected
