"""Settings files: reading, changing and editing them, and trusting a project's file."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from segue import settings
from segue.base import files
from segue.base import paths as base_paths
from segue.errors import BadFile, DraftRefused, FixedByPolicy, NotFound, SettingsError, SettingsNotWritten
from segue.hooks import waiting_handoffs
from segue.ops.common import addresses
from segue.ops.common.desk import Desk, open_desk
from segue.settings import COMMAND_LINE, MODEL_LIMIT, Layer, Source
from segue.store import blobs


class Shown(Struct, frozen=True):
    """A setting with its value and the source of the value."""

    key: str
    value: Any
    source: str
    about: str
    takes: str


class Changed(Struct, frozen=True):
    """A change of one setting in one file. `overridden_by` names the source that takes precedence."""

    key: str
    before: Any
    after: Any
    path: str
    overridden_by: str = ""


class Place(Struct, frozen=True):
    layer: str
    path: str
    exists: bool
    note: str = ""


class Trust(Struct, frozen=True):
    """Whether a project's file is trusted now, and the settings that this affects."""

    path: str
    is_trusted: bool
    affects: dict[str, Any]


def show(desk: Desk, key: str) -> Shown:
    setting = settings.setting_for(key, COMMAND_LINE)
    return Shown(
        key,
        _shown(key, desk.resolved.value(key)),
        str(desk.resolved.source(key)),
        setting.about,
        setting.kind.takes,
    )


def show_all(desk: Desk) -> list[Shown]:
    return [show(desk, key) for key in desk.resolved.every_key()]


def paths(found: base_paths.Places, cwd: Path, home: Path) -> list[Place]:
    """Every file and folder that settings come from, even if the files are invalid."""
    project = base_paths.find_project_file(cwd, home)
    return [
        Place("user file", str(found.config), base_paths.is_there(found.config)),
        Place(
            "project file",
            str(project or base_paths.find_project(cwd) / base_paths.PROJECT_FILE),
            project is not None,
        ),
        Place("policy", str(found.policy), base_paths.is_there(found.policy)),
        Place("data", str(found.data), base_paths.is_there(found.data), "stores and backups"),
        Place("log", str(found.log), base_paths.is_there(found.log), "full error reports"),
    ]


def change(desk: Desk, values: Mapping[str, str | None], *, in_project: bool = False) -> list[Changed]:
    """Set values in the user's file or the project's, all or none. None removes a setting from the file."""
    path = _file_to_change(desk, in_project)
    layer = Layer.PROJECT if in_project else Layer.USER
    read = {key: _checked(desk, key, value) for key, value in values.items()}
    try:
        with files.locked(_lock_of(desk.places)):
            old = settings.read_bytes(path)
            before = {found.key: found.value for found in settings.read_content(old or b"", path, layer)}
            content = _edited(old or b"", path, before, read, layer)
            _write(path, content)
    except OSError as error:
        raise SettingsNotWritten(place=path, what=error.strerror) from error
    is_trusted = in_project and _keep_trust(desk, path, old, content)
    _renew_offers(desk)
    return [_changed(desk, key, before, read, path, layer, is_trusted) for key in read]


def change_models(desk: Desk, add: tuple[str, ...], remove: tuple[str, ...]) -> list[addresses.Address]:
    """Add names to the list of models, or remove them."""
    kept = {addresses.name_of(entry): entry for entry in desk.settings.handoff_models}
    for entry in add:
        addresses.resolve(desk, entry)
        kept[addresses.name_of(entry)] = entry
    for name in remove:
        if name not in kept:
            raise NotFound(noun="listed model", name=name, next="segue handoff models")
        del kept[name]
    change(desk, {addresses.KEY: ", ".join(kept.values()) or None})
    return [addresses.resolve(desk, entry) for entry in kept.values()]


def _renew_offers(desk: Desk) -> None:
    """Update the notes of waiting handoffs, which were prepared under the old settings."""
    if not waiting_handoffs.notes(desk.places.data):
        return
    from segue.ops.handoff import handoff_records  # lazy: few settings need it

    with contextlib.closing(open_desk(env=desk.env, cwd=desk.project)) as renewed:
        handoff_records.renew_offers(renewed)


def _changed(
    desk: Desk,
    key: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    path: Path,
    layer: Layer,
    is_trusted: bool,
) -> Changed:
    source = desk.resolved.source(key)
    wins = str(source) if list(Layer).index(source.layer) > list(Layer).index(layer) else ""
    if layer is Layer.PROJECT and not is_trusted and after[key] is not None:
        wins = (
            wins or "the value without this file, unless this is narrower (run segue trust to change that),"
        )
    return Changed(key, _shown(key, before.get(key)), _shown(key, after[key]), str(path), wins)


def _checked(desk: Desk, key: str, value: str | None) -> Any:
    source = desk.resolved.source(key)
    if source.layer is Layer.POLICY:
        raise FixedByPolicy(key=key, place=source.place)
    if value is None:
        settings.setting_for(key, COMMAND_LINE)
        return None
    return settings.assign(key, value, Source(Layer.FLAG), COMMAND_LINE).value


def _file_to_change(desk: Desk, in_project: bool) -> Path:
    if not in_project:
        return desk.places.config
    return desk.project_file.path if desk.project_file else desk.project / base_paths.PROJECT_FILE


def _write(path: Path, content: bytes) -> None:
    """Write through links, and keep the file's mode."""
    real = path.resolve()
    mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
    files.write_file(real, content, mode=mode)


def _keep_trust(desk: Desk, path: Path, old: bytes | None, new: bytes) -> bool:
    """Trust the changed file if it is new or was trusted before the change."""
    known = desk.project_file
    was_trusted = known is not None and known.is_trusted and known.hash == blobs.hash_of(old or b"")
    if was_trusted or (known is None and old is None):
        desk.local.trust(path, blobs.hash_of(new), desk.clock())
        return True
    return False


def _edited(
    old: bytes, path: Path, before: Mapping[str, Any], values: Mapping[str, Any], layer: Layer
) -> bytes:
    """The file's content with these values; comments, order and everything else stay."""
    import tomlkit  # lazy: only a change of settings needs it

    wanted = {key: value for key, value in {**before, **values}.items() if value is not None}
    try:
        document = tomlkit.parse(old.decode("utf-8-sig"))
        for key, value in values.items():
            _put(document, *_split(key), None if value is None else _as_toml(key, value))
        content = tomlkit.dumps(document).encode()
        after = {found.key: found.value for found in settings.read_content(content, path, layer)}
    except (ValueError, SettingsError):
        after = None
    # Dotted keys and inline tables cannot always be changed in place.
    if after != wanted:
        raise BadFile(
            place=path,
            what="the setting cannot be changed without rewriting other lines; edit the file by hand",
        )
    return content


def _split(key: str) -> tuple[list[str], str]:
    if key.startswith(MODEL_LIMIT):
        return MODEL_LIMIT[:-1].split("."), key.removeprefix(MODEL_LIMIT)
    *tables, name = key.split(".")
    return tables, name


def _put(document: Any, tables: Sequence[str], name: str, value: Any) -> None:
    import tomlkit  # lazy: see above

    table = document
    for part in tables:
        if part not in table:
            if value is None:
                return
            table[part] = tomlkit.table()
        table = table[part]
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value


def _as_toml(key: str, value: Any) -> Any:
    if settings.setting_for(key, "").kind is settings.PERCENT:
        return f"{value}%"
    return list(value) if isinstance(value, tuple) else value


def edit(found: base_paths.Places, run_editor: Callable[[Path], None]) -> Path:
    """Open the user's file in an editor. The result takes effect only if it is valid, and stays a draft otherwise. A
    draft belongs to the version of the file that it was made from; another version gets a draft of its own."""
    try:
        before = settings.read_bytes(found.config)
        before = template().encode() if before is None else before
        draft = found.config.with_name(f"settings.draft-{blobs.hash_of(before)[:8]}.toml")
        if not draft.exists():
            files.write_file(draft, before)
        run_editor(draft)
        text = settings.read_bytes(draft) or b""
        settings.read_content(text, draft, Layer.USER)
        with files.locked(_lock_of(found)):
            if settings.read_bytes(found.config) not in (None, before):
                raise DraftRefused(problem="The settings were changed while you edited them", draft=draft)
            _write(found.config, text)
        draft.unlink()
    except OSError as error:
        raise SettingsNotWritten(place=found.config, what=error.strerror or str(error)) from error
    except DraftRefused:
        raise
    except SettingsError as error:
        raise DraftRefused(problem=str(error).rstrip("."), draft=draft) from error
    return found.config


def _lock_of(found: base_paths.Places) -> Path:
    """One lock for all settings files, outside of projects: a project's folder gets only its settings file."""
    return found.config.with_name(".settings.lock")


def template() -> str:
    """A new settings file: every setting with its default, commented out."""
    lines = ["# Segue's settings. Remove the leading # of a line to change that setting."]
    table = ""
    for setting in settings.SETTINGS:
        *tables, name = setting.key.split(".")
        if setting.key == "limits.models":
            tables, name = ["limits", "models"], "opus"
        if ".".join(tables) != table:
            table = ".".join(tables)
            lines += ["", f"[{table}]"]
        lines += [f"# {setting.about}: {setting.kind.takes}", f"# {name} = {_toml_default(setting)}"]
    return "\n".join(lines) + "\n"


def _toml_default(setting: settings.Setting) -> str:
    if setting.key == "limits.models":
        return '"80%"'
    if setting.kind is settings.PERCENT:
        return f'"{setting.default}%"'
    return msgspec.json.encode(setting.default).decode()


def trust(desk: Desk) -> Trust:
    """Let this project's settings file, in its current version, widen permissions as well as narrow them."""
    if desk.project_file is None:
        raise NotFound(
            noun="project file",
            name=base_paths.PROJECT_FILE,
            next="segue config set --project KEY VALUE creates it",
        )
    path = desk.project_file.path
    settings.read_file(path, Layer.PROJECT)
    desk.local.trust(path, desk.project_file.hash, desk.clock())
    _renew_offers(desk)
    return Trust(
        str(path), True, {found.key: _shown(found.key, found.value) for found in desk.resolved.ignored}
    )


def distrust(desk: Desk) -> Trust:
    """Let this project's settings file only narrow permissions again."""
    if desk.project_file is None or not desk.local.distrust(desk.project_file.path):
        raise NotFound(
            noun="trusted project file",
            name=str(desk.project / base_paths.PROJECT_FILE),
            next="segue config path",
        )
    _renew_offers(desk)
    affected = [key for key, source in desk.resolved.sources.items() if source.layer is Layer.PROJECT]
    return Trust(
        str(desk.project_file.path), False, {key: _shown(key, desk.resolved.value(key)) for key in affected}
    )


def _shown(key: str, value: Any) -> Any:
    return settings.setting_for(key, COMMAND_LINE).kind.shown(value)
