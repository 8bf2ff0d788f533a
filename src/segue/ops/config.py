"""Reading and changing settings, and trusting a project's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from segue import disk, places, settings
from segue.errors import BadFile, DraftRefused, FixedByPolicy, NotFound, SettingsError, SettingsNotWritten
from segue.ops.desk import Desk
from segue.settings import MODEL_LIMIT, Assignment, Layer, Source
from segue.store import blobs


class Shown(Struct, frozen=True):
    """A setting with its value and where that came from."""

    key: str
    value: Any
    source: str
    about: str
    takes: str


class Changed(Struct, frozen=True):
    """A setting as it was and as it is, in one file; `overridden_by` names what still wins over it."""

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


class Trusted(Struct, frozen=True):
    path: str
    takes_effect: tuple[Assignment, ...]


def show(desk: Desk, key: str) -> Shown:
    setting = settings.setting_for(key, "the command line")
    return Shown(
        key, desk.resolved.value(key), str(desk.resolved.source(key)), setting.about, setting.kind.takes
    )


def show_all(desk: Desk) -> list[Shown]:
    return [show(desk, key) for key in desk.resolved.every_key()]


def paths(found: places.Places, cwd: Path, home: Path) -> list[Place]:
    """Every file that settings come from. Works when what is in them does not."""
    project = places.find_project_file(cwd, home)
    return [
        Place("user file", str(found.config), found.config.exists()),
        Place(
            "project file",
            str(project or places.find_project(cwd) / places.PROJECT_FILE),
            project is not None,
        ),
        Place("policy", str(found.policy), found.policy.exists()),
        Place("data", str(found.data), found.data.exists(), "the stores and the backups"),
        Place("log", str(found.log), found.log.exists(), "what went wrong, in full"),
    ]


def change(desk: Desk, values: Mapping[str, str | None], *, in_project: bool = False) -> list[Changed]:
    """Set values in the person's file or the project's, all or none; None takes one out of the file."""
    path = _file_to_change(desk, in_project)
    layer = Layer.PROJECT if in_project else Layer.USER
    read = {key: _checked(desk, key, value) for key, value in values.items()}
    try:
        with disk.locked(path.with_name(f".{path.name}.lock")):
            before = {assignment.key: assignment.value for assignment in settings.read_file(path, layer)}
            text = _edited(path, read)
            settings.read_text(text, path, layer)
            disk.write_file(path, text.encode())
    except OSError as error:
        raise SettingsNotWritten(place=path, what=error.strerror) from error
    if in_project:
        _keep_trust(desk, path)
    return [_changed(desk, key, before, read, path, layer) for key in read]


def _changed(
    desk: Desk, key: str, before: Mapping[str, Any], after: Mapping[str, Any], path: Path, layer: Layer
) -> Changed:
    source = desk.resolved.source(key)
    wins = list(Layer).index(source.layer) > list(Layer).index(layer)
    return Changed(key, before.get(key), after[key], str(path), str(source) if wins else "")


def _checked(desk: Desk, key: str, value: str | None) -> Any:
    source = desk.resolved.source(key)
    if source.layer is Layer.POLICY:
        raise FixedByPolicy(key=key, place=source.place)
    if value is None:
        settings.setting_for(key, "the command line")
        return None
    return settings.assign(key, value, Source(Layer.FLAG), "the command line").value


def _file_to_change(desk: Desk, in_project: bool) -> Path:
    if not in_project:
        return desk.places.config
    return desk.project_file.path if desk.project_file else desk.project / places.PROJECT_FILE


def _keep_trust(desk: Desk, path: Path) -> None:
    """What the person writes into a file that is new, or that they trusted before, they trust."""
    if desk.project_file is None or desk.project_file.is_trusted:
        desk.local.trust(path, blobs.hash_of(path.read_bytes()), desk.clock())


def _edited(path: Path, values: Mapping[str, Any]) -> str:
    """The file's text with these values in it; comments and order stay."""
    import tomlkit  # lazy: only a change of settings needs it
    from tomlkit.exceptions import TOMLKitError

    text = path.read_text() if path.exists() else ""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise BadFile(place=path, what=str(error)) from error
    for key, value in values.items():
        *tables, name = (
            [*MODEL_LIMIT[:-1].split("."), key.removeprefix(MODEL_LIMIT)]
            if key.startswith(MODEL_LIMIT)
            else key.split(".")
        )
        table: Any = document
        for part in tables:
            if value is None and part not in table:
                break
            table = table.setdefault(part, tomlkit.table())
        else:
            if value is None:
                table.pop(name, None)
            else:
                table[name] = _as_toml(key, value)
    return tomlkit.dumps(document)


def _as_toml(key: str, value: Any) -> Any:
    if settings.setting_for(key, "").kind is settings.PERCENT:
        return f"{value}%"
    return list(value) if isinstance(value, tuple) else value


def edit(found: places.Places, run_editor: Callable[[Path], None]) -> Path:
    """Let the person edit their file: what they save takes effect only if it can be read, and is kept
    as a draft if not."""
    draft = found.config.with_name("settings.draft.toml")
    try:
        if not draft.exists():
            text = found.config.read_bytes() if found.config.exists() else template().encode()
            disk.write_file(draft, text)
        run_editor(draft)
        text = draft.read_bytes()
        settings.read_text(text.decode(errors="replace"), draft, Layer.USER)
        disk.write_file(found.config, text)
        draft.unlink()
    except OSError as error:
        raise SettingsNotWritten(place=found.config, what=error.strerror or str(error)) from error
    except SettingsError as error:
        raise DraftRefused(problem=str(error).rstrip("."), draft=draft) from error
    return found.config


def template() -> str:
    """A first settings file: every setting with its default, commented out."""
    lines = ["# Segue's settings. A line without its leading # takes effect."]
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
    import msgspec

    if setting.key == "limits.models":
        return '"80%"'
    if setting.kind is settings.PERCENT:
        return f'"{setting.default}%"'
    return msgspec.json.encode(setting.default).decode()


def trust(desk: Desk) -> Trusted:
    """Let this project's settings file, as it now is, do more than narrow."""
    if desk.project_file is None:
        raise NotFound(
            noun="project file",
            name=places.PROJECT_FILE,
            next="segue config set --project KEY VALUE makes one",
        )
    path = desk.project_file.path
    settings.read_file(path, Layer.PROJECT)
    desk.local.trust(path, desk.project_file.hash, desk.clock())
    return Trusted(str(path), desk.resolved.ignored)


def distrust(desk: Desk) -> Trusted:
    if desk.project_file is None or not desk.local.distrust(desk.project_file.path):
        raise NotFound(noun="trust to take back in", name=str(desk.project), next="segue config path")
    return Trusted(str(desk.project_file.path), ())
