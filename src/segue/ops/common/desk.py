"""The desk: what every operation is given, such as settings, stores, a clock, ids and the current folder.

A command opens one desk. Stores are opened on first use, and only an operation that writes creates a missing store.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from segue import settings
from segue.base import clock as clocks
from segue.base import paths
from segue.base.clock import Clock
from segue.errors import LocalDamaged, SettingsError, StoreDamaged
from segue.settings import Layer, Resolved
from segue.store.index.transcript_index import Index

if TYPE_CHECKING:
    from segue import store

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
LOCAL_FILE = "local.db"
INDEX_FILE = "index.db"
NewId = Callable[[str], str]


def new_id(prefix: str) -> str:
    """An id that a person can type. A unique prefix is enough wherever an id is expected."""
    return prefix + "-" + "".join(ALPHABET[byte % 32] for byte in os.urandom(12))


class ProjectFile(Struct, frozen=True):
    """A project's settings file, and whether the user trusts its current content."""

    path: Path
    hash: str
    is_trusted: bool
    problem: str = ""
    """Why the whole file is ignored: it is not trusted and cannot be read."""


class Desk:
    def __init__(
        self,
        *,
        places: paths.Places,
        resolved: Resolved,
        project_file: ProjectFile | None,
        cwd: Path,
        env: Mapping[str, str],
        clock: Clock,
        new_id: NewId,
    ) -> None:
        self.places = places
        self.resolved = resolved
        self.settings = resolved.settings
        self.project_file = project_file
        self.cwd = cwd
        self.env = env
        self.clock = clock
        self.new_id = new_id
        self.until_closed = contextlib.ExitStack()
        """Released at the end of the command."""
        self._elsewhere: dict[Path, settings.Settings] = {}

    @cached_property
    def project(self) -> Path:
        return paths.find_project(self.cwd)

    def settings_in(self, folder: Path) -> settings.Settings:
        """The settings of a folder, which may belong to another project. Flags apply only to the current project. A
        deleted folder has the current project's settings."""
        project = paths.find_project(folder)
        if project == self.project or not folder.is_dir():
            return self.settings
        if project not in self._elsewhere:
            there = open_desk(env=self.env, cwd=folder)
            self._elsewhere[project] = there.settings
        return self._elsewhere[project]

    def settings_files(self, folder: Path) -> list[Path]:
        """Every file that can change the settings of a folder, whether it exists or not."""
        home = Path(self.env.get("HOME") or "/")
        return [self.places.config, self.places.policy, *paths.project_files(folder, home)]

    @cached_property
    def actor(self) -> str:
        return self.settings.user_name or login_name()

    @property
    def has_store(self) -> bool:
        from segue import store  # lazy: listing transcripts needs no store

        return store.exists(self.places.data, self.settings)

    @cached_property
    def shared(self) -> store.Shared:
        from segue import store  # lazy: as above

        return store.open_shared(
            self.places.data, self.settings, actor=self.actor, new_id=self.new_id, clock=self.clock
        )

    @cached_property
    def local(self) -> store.Local:
        return open_local(self.places, self.settings)

    @property
    def has_local(self) -> bool:
        return paths.is_there(self.places.data / LOCAL_FILE)

    @property
    def has_index(self) -> bool:
        return "index" in self.__dict__ or paths.is_there(self.places.data / INDEX_FILE)

    def do_without_index(self) -> None:
        """Use an index in memory: there is nothing to store."""
        self.index = Index(None)

    @cached_property
    def index(self) -> Index:
        """The index of this machine's transcripts."""
        return Index(self.places.data / INDEX_FILE, busy_seconds=self.settings.store_busy_seconds)

    def close(self) -> None:
        with self.until_closed:
            for name in ("shared", "local", "index"):
                if name in self.__dict__:
                    self.__dict__.pop(name).close()


def login_name() -> str:
    import pwd  # lazy: as above

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user-{os.getuid()}"


def open_local(found: paths.Places, chosen: settings.Settings) -> store.Local:
    from segue import store  # lazy: as above

    try:
        return store.open_local(found.data, chosen)
    except StoreDamaged as error:
        raise LocalDamaged(**error.details) from error


def open_desk(
    *,
    env: Mapping[str, str],
    cwd: Path,
    flags: Sequence[str] = (),
    clock: Clock = clocks.now,
    new_id: NewId = new_id,
) -> Desk:
    """Read all settings and open a desk for a folder."""
    found = paths.find(env)
    user = settings.read_file(found.config, Layer.USER)
    environment = settings.read_environment(env)
    given = settings.read_flags(flags)
    policy = settings.read_file(found.policy, Layer.POLICY)
    project_file, project = _read_project(found, cwd, env)
    resolved = settings.resolve(
        [user, project, environment, given, policy],
        is_trusted=project_file is not None and project_file.is_trusted,
    )
    return Desk(
        places=found,
        resolved=resolved,
        project_file=project_file,
        cwd=cwd,
        env=env,
        clock=clock,
        new_id=new_id,
    )


def _read_project(
    found: paths.Places, cwd: Path, env: Mapping[str, str]
) -> tuple[ProjectFile | None, list[settings.Assignment]]:
    path = paths.find_project_file(cwd, Path(env.get("HOME") or "/"))
    if path is None:
        return None, []
    from segue.store import blobs  # lazy: as above

    try:
        content = settings.read_bytes(path) or b""
    except SettingsError as error:
        return ProjectFile(path, "", False, str(error)), []
    hash = blobs.hash_of(content)
    is_trusted = _is_trusted(found, path, hash)
    try:
        return ProjectFile(path, hash, is_trusted), settings.read_content(content, path, Layer.PROJECT)
    except SettingsError as error:
        # A stranger's broken file must not stop the user's work in that folder.
        if is_trusted:
            raise
        return ProjectFile(path, hash, False, str(error)), []


def _is_trusted(found: paths.Places, path: Path, hash: str) -> bool:
    from segue.store import os_errors  # lazy: as above

    with os_errors.translated(found.data):
        if not (found.data / LOCAL_FILE).exists():
            return False
    local = open_local(found, settings.Settings())
    try:
        return local.trusts(path, hash)
    finally:
        local.close()
