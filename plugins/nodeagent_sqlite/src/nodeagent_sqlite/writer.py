"""Group commit: concurrent writers of a process share one transaction.

A durable commit costs a sync of the disk, whoever shares it. So a writer puts its *atom* into a queue. Whoever
finds nobody at work *leads*: it takes the write lock of the file, performs every atom that is queued by then,
commits once, answers everybody, and hands the lead to the next in the queue. An idle caller leads at once and
commits in its own thread: nothing is handed over, so nothing waits for a thread to wake up.

An atom is a function of the connection that either does all its work or raises and leaves nothing behind
(:func:`undone_if_refused`), so a refused one disturbs nobody who shares its transaction. Nobody is answered
before the commit is durable.

Most callers share with nobody, and most are not refused. So an atom may come with a *bold* version of itself that
takes no care to leave nothing behind: a lone caller tries it first, and if it raises, the whole transaction is
undone and the atom performed in a new one.
"""

from __future__ import annotations

import _thread
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from nodeagent import BackendError, OutcomeUnknown, Unavailable
from nodeagent_sqlite.faults import after_commit, translated
from nodeagent_sqlite.waiting import patiently

T = TypeVar("T")

MAX_GROUP: Final = 256
"""How many atoms share a commit at most: the first must not wait for the last without bound."""

Atom = Callable[[sqlite3.Connection], T]


class Source(Protocol):
    """Where a writer's connection comes from."""

    path: str

    def take_writer(self) -> sqlite3.Connection:
        """Return the connection for writing, opened if need be; nobody else uses it until it is given back."""
        ...

    def give_writer(self, *, is_sound: bool) -> None:
        """Give it back; one that is not sound is replaced."""
        ...


def undone_if_refused(connection: sqlite3.Connection, work: Callable[[], T]) -> T:
    """Perform ``work`` of several statements as an atom: what it wrote is undone if it raises."""
    connection.execute("SAVEPOINT atom")
    try:
        result = work()
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO atom")
            connection.execute("RELEASE atom")
        raise
    connection.execute("RELEASE atom")
    return result


class _Caller(Generic[T]):
    """One waiting caller: its atom, how it ended, and, while it leads, whom it has to answer."""

    __slots__ = ("atom", "bold", "deadline", "error", "gate", "group", "is_done", "is_sealing", "leads", "result")

    def __init__(self, atom: Atom[T], bold: Atom[T] | None, deadline: float) -> None:
        self.atom = atom
        self.bold = bold
        self.deadline = deadline
        self.gate: Any = None
        self.leads = False
        self.group: list[_Caller[Any]] = []
        self.is_sealing = False
        self.is_done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Writer:
    """The queue of one process for one file."""

    def __init__(self, source: Source, busy_timeout: float) -> None:
        self._source = source
        self._busy_timeout = busy_timeout
        self._mutex = threading.Lock()
        self._queue: deque[_Caller[Any]] = deque()
        self._is_led = False

    def run(self, atom: Atom[T], bold: Atom[T] | None = None, within: float | None = None) -> T:
        """Return the atom's result, or its bold version's, once it is durable, or raise what the atom raised.

        It waits for other processes as long as any caller, and ``within`` for those and for other threads.

        Raises:
            Unavailable: nothing was applied.
            OutcomeUnknown: the commit failed in a way that leaves it open.

        """
        patience = self._busy_timeout if within is None else min(within, self._busy_timeout)
        caller = _Caller(atom, bold, time.monotonic() + patience)
        try:
            self._join(caller)
            if caller.gate is not None:
                self._wait(caller, within)
            if not caller.is_done:
                self._lead(caller)
        except BaseException:
            self._leave(caller)
            raise
        if caller.error is not None:
            raise caller.error
        result: T = caller.result
        return result

    def _join(self, caller: _Caller[Any]) -> None:
        """Stand in the queue; the lead is ours at once if nobody has it."""
        with self._mutex:
            if self._is_led:
                caller.gate = _thread.allocate_lock()
                caller.gate.acquire()
            else:
                self._is_led = caller.leads = True
            self._queue.append(caller)

    def _wait(self, caller: _Caller[Any], within: float | None) -> None:
        """Wait until a leader has answered, or the lead is ours, or it takes too long."""
        if within is not None and not caller.gate.acquire(timeout=min(within, threading.TIMEOUT_MAX)):
            with self._mutex:
                gives_up = caller in self._queue and not caller.leads
                if gives_up:
                    self._queue.remove(caller)
            if gives_up:
                raise Unavailable(
                    f"{self._source.path!r} could not be used: other threads kept it busy for longer than a lease"
                    " may wait; try again or ask for a longer lease"
                )
            within = None  # a leader has it in hand, or the lead was just handed to us
        if within is None:
            caller.gate.acquire()

    def _leave(self, caller: _Caller[Any]) -> None:
        """Clean up behind an interrupted thread: nobody may wait for ever for what it will not do."""
        with self._mutex:
            if caller in self._queue:
                self._queue.remove(caller)
            self._hand_on(caller)
        self._fail(caller, None)
        self._answer(caller.group)

    def _lead(self, own: _Caller[Any]) -> None:
        try:
            self._commit(own, own.group)
        except Exception as error:  # noqa: BLE001 - everybody of the group is told
            self._fail(own, error)
        for caller in own.group:
            caller.is_done = True
        with self._mutex:
            self._hand_on(own)
        self._answer(own.group)

    def _commit(self, own: _Caller[Any], group: list[_Caller[Any]]) -> None:
        """Perform one group; ``group`` says who is to be answered, whatever happens."""
        try:
            connection = self._source.take_writer()
        except BaseException:
            group += self._expired(own)
            raise
        is_sound = False
        try:
            self._begin(connection, own, group)
            group += self._drained()
            if len(group) > 1 or not self._dared(connection, group[0]):
                for caller in group:
                    self._perform(connection, caller)
            own.is_sealing = True
            self._seal(connection)
            is_sound = True
        finally:
            is_sound = is_sound or _rolled_back(connection)
            self._source.give_writer(is_sound=is_sound)

    def _begin(self, connection: sqlite3.Connection, own: _Caller[Any], group: list[_Caller[Any]]) -> None:
        try:
            _take_lock(connection, own.deadline)
        except BaseException as error:
            group += self._expired(own)
            if isinstance(error, sqlite3.Error):
                raise translated(error, self._source.path) from error
            raise

    def _dared(self, connection: sqlite3.Connection, caller: _Caller[Any]) -> bool:
        """Perform a lone caller's bold atom, if it has one; begin anew if it raises, and say whether it is done."""
        if caller.bold is None:
            return False
        try:
            caller.result = caller.bold(connection)
        except Exception:  # noqa: BLE001 - the atom will say why
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                _take_lock(connection, caller.deadline)
            except sqlite3.Error as error:
                raise translated(error, self._source.path) from error
            return False
        return True

    def _perform(self, connection: sqlite3.Connection, caller: _Caller[Any]) -> None:
        try:
            caller.result = caller.atom(connection)
        except sqlite3.Error as error:
            caller.error = translated(error, self._source.path)
            caller.error.__cause__ = error
            if not connection.in_transaction:
                # SQLite gave up the whole transaction: what the others did is gone as well.
                raise caller.error from error
        except Exception as error:  # noqa: BLE001 - a refusal, or a fault that is the caller's alone
            caller.error = error

    def _seal(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise after_commit(error, self._source.path) from error

    def _fail(self, own: _Caller[Any], error: Exception | None) -> None:
        """Give an error of its own to everybody of a group that was not committed; None: it was interrupted."""
        for caller in own.group:
            if caller.is_done:
                continue
            if error is None:
                caller.error = _interrupted(own)
            elif isinstance(error, BackendError):
                caller.error = type(error)(*error.args)
                caller.error.__cause__ = error
            else:
                caller.error = error
            caller.is_done = True

    def _answer(self, group: list[_Caller[Any]]) -> None:
        for caller in group:
            if caller.gate is not None and caller.gate.locked():
                caller.gate.release()

    def _drained(self) -> list[_Caller[Any]]:
        queue = self._queue
        with self._mutex:
            return [queue.popleft() for _ in range(min(len(queue), MAX_GROUP))]

    def _expired(self, own: _Caller[Any]) -> list[_Caller[Any]]:
        """Take the leader, and those who have waited as long as it, out of the queue."""
        now = time.monotonic()
        with self._mutex:
            gone = [each for each in self._queue if each is own or each.deadline <= now]
            for caller in gone:
                self._queue.remove(caller)
        return gone

    def _hand_on(self, own: _Caller[Any]) -> None:
        """Give the lead, if it is ours, to the first in the queue, if there is one. The mutex is held."""
        if not own.leads:
            return
        own.leads = False
        self._is_led = bool(self._queue)
        if self._queue:
            following = self._queue[0]
            following.leads = True
            following.gate.release()


def _interrupted(own: _Caller[Any]) -> BackendError:
    if own.is_sealing:
        return OutcomeUnknown("the thread that committed was interrupted; send it again with the same id")
    return Unavailable("the thread that wrote was interrupted, so nothing was applied; try again")


def _take_lock(connection: sqlite3.Connection, deadline: float) -> None:
    """Begin a transaction that writes, as soon as no other process has one."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), deadline)


def _rolled_back(connection: sqlite3.Connection) -> bool:
    """End a failed transaction; return whether the connection is good for another."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return True
