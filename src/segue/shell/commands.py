"""Meaning of a command line: its normalized form, its purpose, and its effects on files.

Only literal words count: a path with a variable or a pattern is skipped because its value is unknown.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, cast

from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun
from segue.shell.lexer import HEREDOC, LONGEST, NOWHERE, Simple, Word, simple_commands

LONGEST_WORD = 100
"""A longer word is a script or a text, and is truncated for display."""
LONGEST_SHOWN = 400
MOST_CHAINED = 20
DEEPEST = 4
"""Maximum depth of nested shells and wrappers."""

Purpose = Literal["test", "build", "lint", "install", "git", "run", "look", ""]
EffectKind = Literal["created", "touched", "restored", "renamed", "deleted", "made"]


class Effect(Struct, frozen=True):
    """Effect of a successful command on one file, or on a whole folder."""

    kind: EffectKind
    """'created': written whole; 'touched': changed, or created if missing; 'restored': as it was committed;
    'renamed': now at `to`; 'made': a folder that exists now, whatever its contents."""
    path: str
    to: str = ""
    content: str | None = None
    """The file's new content, if the command contains all of it."""


# Known programs

TABLE = """
test pytest py.test jest vitest mocha ava tap jasmine karma cypress playwright rspec minitest phpunit pest tox nox ctest
test bats nosetests gotestsum behave cucumber robot prove busted unittest go:test cargo:test,nextest,t dotnet:test
test swift:test mix:test deno:test zig:test flutter:test dart:test stack:test cabal:test
lint ruff flake8 pylint mypy pyright basedpyright ty black isort eslint oxlint prettier biome stylelint dprint sorbet
lint golangci-lint gofmt goimports gofumpt staticcheck rubocop standardrb rustfmt shellcheck shfmt hadolint phpstan
lint psalm phpcs php-cs-fixer pint ktlint detekt swiftlint swiftformat clang-format clang-tidy cppcheck sqlfluff
lint yamllint markdownlint pre-commit lint-staged knip bandit vulture codespell actionlint vue-tsc go:vet,fmt
lint cargo:check,clippy,fmt,c dotnet:format mix:format,credo deno:lint,fmt,check zig:fmt flutter:analyze
lint dart:analyze,format terraform:fmt,validate
build cmake ninja meson webpack vite rollup esbuild tsup parcel swc babel bazel scons gcc g++ clang clang++ cc c++ tsc
build rustc javac kotlinc swiftc scalac msbuild xcodebuild protoc wasm-pack hugo go:build,generate cargo:build,b,doc
build dotnet:build,publish swift:build mix:compile deno:compile zig:build uv:build flutter:build stack:build
build cabal:build docker:build,buildx poetry:build
install pip pip3 apt apt-get brew gem pacman yum dnf apk choco winget asdf nvm rustup corepack go:get,install,mod
install cargo:add,install,fetch,update dotnet:restore,add mix:deps.get deno:install,add flutter:pub dart:pub
install uv:sync,add,pip,lock,remove,venv poetry:install,add,update,lock bundle:install,update composer:install,require
look ls ll cat bat head tail less more grep egrep fgrep rg ag ack find fd tree wc pwd echo printf which type whereis
look file stat du df printenv date whoami hostname uname id ps top lsof jq yq awk sort uniq cut tr column nl diff cmp
look comm xxd hexdump od strings md5sum sha1sum sha256sum shasum basename dirname realpath readlink man history test [
look [[ true false : cd pushd popd sleep set wait tac rev paste seq eza netstat ss ping dig sed curl uptime free nm
look objdump ldd zcat zgrep export unset read for case pip:list,show,freeze go:list,env,version,doc
look cargo:tree,metadata docker:ps,logs,images,inspect kubectl:get,describe,logs terraform:show,output uv:tree
look Get-ChildItem Get-Content Get-Item Get-Location Set-Location Select-String Test-Path Measure-Object
look git:status,log,diff,show,grep,rev-parse,ls-files,ls-remote,ls-tree,blame,describe,reflog,shortlog,cat-file
look git:merge-base,rev-list,name-rev,for-each-ref,show-ref,check-ignore
git git gh glab hub jj hg svn
keyword if then elif else while until do ! { } fi done esac
compound for while until if case select function { [[
shell bash sh zsh dash ksh fish
clipper head tail cat less more tee Select-Object Out-String Out-Host
filter grep egrep fgrep rg sort uniq wc cut tr awk sed Select-String Where-Object Sort-Object Measure-Object
remark echo printf true : set sleep Write-Host Write-Output Start-Sleep
script npm pnpm yarn bun make gmake just task mise rake mvn mvnw gradle gradlew sbt nx turbo lerna moon ant hatch pdm
script invoke inv deno composer grunt gulp rush poe ng next nuxt astro rails artisan bundle
valued -C -c -f -F -w -p -e -n --prefix --filter --workspace --cwd --dir --directory --project --file --manifest-path
valued --git-dir --work-tree --package --with --extra --group --python --env-file --context --namespace --from
reads view list diff checks status watch show get-url --get --list -l search get info help version describe logs
wrapper timeout gtimeout time nohup nice ionice stdbuf setsid unbuffer command exec env
helper sudo doas xargs xvfb-run cross-env dotenv npx bunx pnpx uvx
runner uv:run poetry:run pdm:run pipenv:run hatch:run rye:run pipx:run conda:run bundle:exec npm:exec,x pnpm:exec,dlx
runner yarn:exec,dlx bun:x mise:exec,x
"""
"""By program, or by program:sub-command. A clipper shortens another program's output, a filter selects lines of
it, a remark is meant for the reader, a script runs what the project defines, a valued option takes a value;
wrappers and runners start another program."""
RANKS = ("test", "build", "lint", "install", "git", "run", "look")
"""The first of these that one of its commands has is the purpose of a compound."""


def _known(*kinds: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, *names in map(str.split, TABLE.strip().splitlines()):
        for name in names if kind in kinds else ():
            program, colon, subs = name.partition(":")
            found |= dict.fromkeys((program + colon + sub for sub in subs.split(",")), kind)
    return found


PURPOSES = _known(*RANKS)
KEYWORDS, COMPOUND, SHELLS, CLIPPERS = map(_known, ("keyword", "compound", "shell", "clipper"))
FILTERS = _known("clipper", "filter")
CHECKS = ("test", "build", "lint")
"""Checks of the work. Their result is reported, whatever part of their output was selected."""
REMARKS, SCRIPTED, VALUED, READS = map(_known, ("remark", "script", "valued", "reads"))
WRAPPERS, HELPERS, RUNNERS = _known("wrapper"), _known("wrapper", "helper"), _known("runner")
WRAPPED_VALUES = lazy_pattern(r"-[skouCnPIdLgaf]|--signal|--kill-after|--from|--with|--python|-p|--package")
"""Options of a wrapper that take a value."""
ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*+\+?=")


def program_name(word: str) -> str:
    return word.rpartition("/")[2].removesuffix(".exe").removesuffix(".cmd")


def _bare(words: list[str], wrappers: dict[str, str] = HELPERS) -> int:
    """Number of words before the actual program: settings, `then`, `timeout 60`."""
    at = 0
    while at < len(words):
        name = program_name(words[at])
        if name in wrappers:
            at += 1
            while at < len(words) and words[at].startswith("-"):
                at += 2 if WRAPPED_VALUES.fullmatch(words[at]) else 1
            at += name.endswith("timeout")
        elif ASSIGNMENT.match(words[at]) or words[at] in KEYWORDS:
            at += 1
        else:
            break
    return min(at, len(words))


def _script(words: list[str]) -> str:
    """The script of `bash -lc '…'`; empty if there is none."""
    if len(words) > 2 and program_name(words[0]) in SHELLS:
        for option, script in pairwise(words[1:5]):
            if re.fullmatch(r"-[a-z]*c", option):
                return script
    return ""


def programs(command: str, depth: int = 0) -> Iterator[tuple[list[str], Simple]]:
    """Words of each simple command from its program on; an inner shell is replaced by its commands."""
    for simple in simple_commands(command):
        words = simple.texts
        words = words[_bare(words) :]
        if depth < DEEPEST and (script := _script(words)):
            yield from programs(script, depth + 1)
        elif words:
            yield words, simple


# Normalized form

QUIET = lazy_pattern(
    r"(?:CI|NO_COLOR|(?:FORCE|CLI)_?COLOR\w*|TERM|COLUMNS|(?:\w+_)?(?:PAGER|EDITOR)|LANG|LC_\w+|DEBIAN_FRONTEND"
    r"|PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8))="
)
"""Settings that change a command's output, not its effect."""
MESSAGE = lazy_pattern(r"\"?\$\(\s*+cat\s++<<-?\s*+['\"]?\w++['\"]?[ \t]*+\n")
JOINTS = {";": "; ", ")": "; ", "(": "; (", "": "; "}


WRAPPED = lazy_pattern(
    r"(?<=[A-Za-z0-9+/]{40})[ \t]{0,8}\r?\n[ \t]{0,8}(?=[A-Za-z0-9+/]{1,100}={0,2}(?:[\s\"'`]|\Z))"
)


def unwrapped(command: str) -> str:
    """Join encoded data that spans several lines: with spaces inside, it would not be recognised again."""
    return WRAPPED.sub("", command)


def plain(command: str, folder: str = "") -> str:
    """Normalize a command to one line: without limits on time and output and without remarks; heredocs and long
    scripts are visibly truncated. Paths below `folder` become relative, and `cd` to it is dropped; `cd` elsewhere
    stays because it changes the meaning."""
    text, folder = unwrapped(command), folder.rstrip("/")
    simples = simple_commands(text)
    for _ in range(DEEPEST):
        words = simples[0].texts if len(simples) == 1 else []
        if not (script := _script(words[_bare(words, WRAPPERS) :])):
            break
        text, simples = script, simple_commands(script)
    if any(simple.joint in ("(", ")") or COMPOUND.keys() & simple.texts[:1] for simple in simples):
        lines = (line for line in text[:LONGEST].split("\n") if not line.lstrip().startswith("#"))
        return _cut(" ".join(_from_here(" ".join(lines), folder).split()), LONGEST_SHOWN)
    said = ""
    for simple in _telling(_without_going(simples, folder)):
        shown = _said(text, simple, folder)
        said += (JOINTS.get(simple.joint, f" {simple.joint} ") if said and shown else "") + shown
    return _cut(" ".join(said.split()), LONGEST_SHOWN)


def _without_going(simples: Sequence[Simple], folder: str) -> Sequence[Simple]:
    """Drop `cd` to the folder of the work; if that is unknown, to any absolute path."""
    while len(simples) > 1 and simples[1].joint in ("&&", ";") and simples[0].texts[:1] == ["cd"]:
        to = "".join(simples[0].texts[1:]).rstrip("/")
        if to not in ("", ".", folder) and (folder or not to.startswith(("/", "~", "$"))):
            break
        simples = simples[1:]
    return simples


def _telling(simples: Sequence[Simple]) -> Sequence[Simple]:
    """Drop `| head` and the like at the end of a pipeline (for a check also `| grep`), and `echo` and `|| true`
    next to other commands."""
    kept: list[Simple] = []
    following = ""
    for simple, head in reversed(list(zip(simples, _heads(simples), strict=True))):
        program = program_name(simple.texts[0]) if simple.words else ""
        is_piped_to, is_piped_on = simple.joint in ("|", "|&"), following in ("|", "|&")
        is_written = any(item.is_written for item in simple.redirects)
        cutting = FILTERS if program in FILTERS and is_piped_to and _is_check(head) else CLIPPERS
        is_cutter = program in cutting and is_piped_to and not (is_piped_on or is_written)
        is_remark = program in REMARKS and not (is_piped_to or is_piped_on or is_written)
        if not is_cutter and not is_remark:
            kept.append(simple)
            following = simple.joint
    return kept[::-1] or simples


def _heads(simples: Sequence[Simple]) -> Iterator[Simple]:
    """The first command of each simple command's pipeline."""
    head = simples[0] if simples else None
    for simple in simples:
        head = head if head and simple.joint in ("|", "|&") else simple
        yield head


def _is_check(simple: Simple) -> bool:
    words = simple.texts
    words = words[_bare(words) :]
    return bool(words) and _purpose_of(words, 0) in CHECKS


def passed_with(command: str, folder: str = "") -> list[str]:
    """The commands that passed if this one did, normalized: those of its `&&` chain. Commands that run in another
    folder or on other files do not count, and the status of a piped command is unknown."""
    return _pieces(command, folder, ("", "&&"), _goes)


def chained(command: str, folder: str = "") -> list[str]:
    """The commands whose output this one may have printed: those of its chain, however they are joined."""
    return _pieces(command, folder, ("", "&&", ";"), _goes_away, is_piped_too=True)


def _pieces(
    command: str,
    folder: str,
    joints: tuple[str, ...],
    goes: Callable[[list[str]], bool],
    *,
    is_piped_too: bool = False,
) -> list[str]:
    text = unwrapped(command)[:LONGEST]
    simples = _without_going(simple_commands(text), folder.rstrip("/"))
    starts: list[int] = []
    piped: set[int] = set()
    for simple in simples:
        if simple.joint in ("|", "|&"):
            piped |= set(starts[-1:]) if not is_piped_too else set()
        elif simple.joint in joints and simple.words and not goes(simple.texts):
            starts.append(simple.words[0].start)
        else:
            return [plain(command, folder)]
    if len(starts) < 2 or len(starts) > MOST_CHAINED or text.rstrip().endswith("&"):
        return [plain(command, folder)]
    pieces = [text[start:end] for start, end in pairwise([*starts, len(text)]) if start not in piped]
    return [
        said for piece in pieces if (said := plain(piece.rstrip().rstrip(";").removesuffix("&&"), folder))
    ]


def _goes(words: list[str]) -> bool:
    """Whether the following commands run in another folder or on other files."""
    words = words[_bare(words) :]
    program, at = program_name(words[0]) if words else "", sub_at(words)
    is_elsewhere = program == "git" and at and words[at] in ("stash", "checkout", "switch", "worktree")
    return _goes_away(words) or bool(is_elsewhere)


def _goes_away(words: list[str]) -> bool:
    """Whether the following commands run in another folder."""
    words = words[_bare(words) :]
    return bool(words) and (
        program_name(words[0]) in ("cd", "pushd", "popd") or bool(COMPOUND.keys() & words[:1])
    )


def _said(text: str, simple: Simple, folder: str) -> str:
    skipped = _bare(simple.texts, WRAPPERS)
    kept = [
        word for word in simple.words[:skipped] if ASSIGNMENT.match(word.text) and not QUIET.match(word.text)
    ]
    words = [*kept, *simple.words[skipped:]] or simple.words
    told = [(word.start, _said_word(text[word.start : word.end], folder)) for word in words]
    for item in simple.redirects:
        target = _said_word(text[item.target.start : item.target.end], folder)
        if HEREDOC.fullmatch(item.operator):
            told.append((item.start, f"{item.operator}{target} …"))
        elif not NOWHERE.fullmatch(item.target.text):
            told.append((item.start, f"{item.operator} {target}"))
    return " ".join(said for _, said in sorted(told))


def _said_word(raw: str, folder: str) -> str:
    if message := MESSAGE.match(raw):
        # Text from a heredoc, as for `git commit -m`: its first line. The last two lines close it.
        lines = [line.strip() for line in raw[message.end() :].split("\n") if line.strip()][:-2] or [""]
        return f'"{_cut(lines[0], LONGEST_WORD)}{" …" if len(lines) > 1 else ""}"'
    raw = _from_here(raw, folder) or "."
    quote = raw[:1] if raw[:1] in ("'", '"') and len(raw) > 1 else ""
    inner = " ".join(raw[1:].removesuffix(quote).split()) if quote and "\n" in raw else raw[len(quote) :]
    return quote + _cut(inner.removesuffix(quote), LONGEST_WORD * (1 if quote else 2)) + quote


def _from_here(text: str, folder: str) -> str:
    if not folder or folder not in text:
        return text
    return re.sub(rf"(?<![\w./-]){re.escape(folder)}(?:/(?=[\w.])|(?![\w./-]))", "", text)


def _cut(text: str, longest: int) -> str:
    """Truncate visibly, with the number of missing characters, so that two scripts with the same beginning stay
    different."""
    if len(text) <= longest:
        return text
    start = begun(text, longest).removesuffix(" …")
    return f"{start}…(+{len(text) - len(start):,})"


def runner(command: str) -> list[str]:
    """The program, its sub-command, and the script that it runs."""
    words = command.split()
    return words[:3] if words[1:2] and words[1] in ("run", "exec", "compose", "x", "-m", "dlx") else words[:2]


# Purpose

NAMED = {
    "test": lazy_pattern(r"\w*tests?|t|specs?|e2e|jest|vitest|verify|coverage|cov"),
    "lint": lazy_pattern(r"\w*lint|format|fmt|typecheck|types?|tsc|checks?|style|prettier|clippy|analy[sz]e"),
    "build": lazy_pattern(r"build|compile|bundle|dist|package|assemble|generate|codegen|all|classes"),
    "install": lazy_pattern(r"install|i|ci|add|setup|bootstrap|deps|update|upgrade|remove|uninstall|restore"),
    "look": lazy_pattern(r"ls|list|view|info|outdated|why|show|help|tasks|tree|version"),
}
CHANGED = {
    "sed": ("run", lazy_pattern(r"-[a-zA-Z]*i.*|--in-place.*")),
    "find": ("run", lazy_pattern(r"-delete|-exec|-execdir|-ok")),
    "curl": ("run", lazy_pattern(r"-[XdFToO].*|--data.*|--request.*|--output|--form|--upload-file")),
    "tsc": ("lint", lazy_pattern(r"--noEmit")),
    "node": ("test", lazy_pattern(r"--test")),
}
"""The purpose of a program if one of its words matches."""
INTERPRETER = lazy_pattern(r"(?:python|pypy)[\d.]*|py|node|deno|bun|ruby|perl|php|(?:ba|z|da)?sh")


@functools.lru_cache(maxsize=4)
def purpose(command: str) -> Purpose:
    """Purpose of a command; of a compound, the most significant one. 'look' changes nothing."""
    found = set()
    for words, simple in programs(command):
        said = _purpose_of(words, 0)
        found.add("run" if said == "look" and any(item.is_written for item in simple.redirects) else said)
    return cast(Purpose, next((rank for rank in RANKS if rank in found), ""))


def _purpose_of(words: list[str], depth: int) -> str:
    program, at = program_name(words[0]), sub_at(words)
    sub, rest = (words[at], words[at + 1 :]) if at else ("", [])
    instead, pattern = CHANGED.get(program, ("", ASSIGNMENT))
    if instead and any(pattern.fullmatch(word) for word in words[1:]):
        return instead
    if (inner := _run_by(program, words, at)) and depth < DEEPEST:
        return _purpose_of(inner, depth + 1)
    if said := PURPOSES.get(f"{program}:{sub}"):
        return said
    if program in SCRIPTED:
        scripts = rest if sub in ("run", "run-script", "task") else [sub, *rest]
        bare = {"yarn": "install", "make": "build", "gmake": "build"}
        return (_named(scripts[:3]) if at else bare.get(program, "")) or "run"
    if PURPOSES.get(program) == "git":
        return "look" if _only_reads(sub, rest) else "git"
    is_script = "/" in words[0] or INTERPRETER.fullmatch(program)
    said = PURPOSES.get(program) or (_named([program, sub, *rest[:1]]) if is_script else "")
    return said or ("look" if sub in READS or "--help" in words or "--version" in words else "run")


def _run_by(program: str, words: list[str], at: int) -> list[str]:
    """The words of a program that another one starts: `uv run pytest`, `python -m pytest`."""
    if program.startswith("py") and INTERPRETER.fullmatch(program) and "-m" in words[:4]:
        return words[words.index("-m") + 1 :]
    if at and f"{program}:{words[at]}" in RUNNERS:
        inner = words[at:]
        inner = inner[sub_at(inner) or len(inner) :]
        return inner[_bare(inner) :]
    return []


def sub_at(words: list[str]) -> int:
    """Index of the sub-command; 0 if there is none."""
    at = 1
    while at < len(words) and words[at].startswith(("-", "+")):
        at += 2 if words[at] in VALUED else 1
    return at if at < len(words) else 0


def _named(names: list[str]) -> str:
    """Purpose of a script by its name: 'test:unit', 'run-lint.sh'."""
    for name in names:
        said = re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name[-60:]).lower())
        for found, pattern in NAMED.items():
            if not name.startswith("-") and any(pattern.fullmatch(part) for part in said):
                return found
    return ""


def _only_reads(sub: str, rest: list[str]) -> bool:
    if sub in ("branch", "tag", "remote"):
        return all(re.fullmatch(r"-[avrnl]+|--(?!delete|set|unset|edit)[a-z-]+", word) for word in rest)
    if sub == "api":
        return not any(re.match(r"-[XfF]|--(?:method|field|raw-field|input)", word) for word in rest)
    return not sub or sub in READS or bool(READS.keys() & rest[:2])


# Effects on files

PATCHED = lazy_pattern(r"^\*\*\* (Add|Update|Delete) File: (.+)$(?:\n\*\*\* Move to: (.+)$)?", re.MULTILINE)
VERBS: dict[str, EffectKind] = {"Add": "created", "Update": "touched", "Delete": "deleted"}
LONGEST_PATH = 1000
UNKNOWN = "\0"
"""An unknown folder."""


def effects(command: str) -> tuple[Effect, ...]:
    """Effects of a command on files with literal paths, relative to the folder where it runs."""
    found: list[Effect] = []
    folder = ""
    for words, simple in programs(command):
        program, rest = program_name(words[0]), list(simple.words[-len(words) :])[1:]
        if program in ("cd", "pushd"):
            is_told = len(rest) == 1 and rest[0].is_literal and len(folder) < LONGEST_PATH
            folder = posixpath.join(folder, rest[0].text) if is_told else UNKNOWN
        for effect in (*_done(program, rest, simple), *_written(program, rest, simple)):
            path, to = (_from(folder, path) for path in (effect.path, effect.to))
            if UNKNOWN not in path and "\n" not in path and path != "." and not path.startswith("/dev/"):
                found.append(Effect(effect.kind, path, to, effect.content))
    # The last of equal effects counts.
    return tuple(dict.fromkeys(reversed(found)))[::-1]


def _from(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path)) if path and path[0] != "~" else path


def _done(program: str, words: list[Word], simple: Simple) -> Iterator[Effect]:
    if program == "git" and words:
        program, words = f"git {words[0].text}", words[1:]
    flags = {word.text for word in words if word.text.startswith("-")}
    named = [word for word in words if word.text and not word.text.startswith("-")]
    kind: EffectKind = "touched"
    if program in ("rm", "unlink", "rmdir") or (program == "git rm" and "--cached" not in flags):
        kind = "deleted"
    elif program in ("sed", "perl"):
        named = _edited(words)
    elif program == "tee":
        kind = "touched" if flags & {"-a", "--append"} else "created"
    elif program in ("curl", "wget"):
        kind = "created"
        named = [to for option, to in pairwise(words) if option.text in ("-o", "-O", "--output")]
    elif program == "git checkout" and "--" in flags:
        named = words[(at := [word.text for word in words].index("--")) + 1 :]
        kind = "restored" if all(word.text in ("HEAD", "-f", "-q") for word in words[:at]) else "touched"
    elif program in ("mv", "git mv", "cp", "ln") and len(named) > 1 and named[-1].is_literal:
        yield from _moved("renamed" if program.endswith("mv") else "created", named)
        return
    elif program == "git restore" and not flags & {"--staged", "-S"}:
        kind = "touched" if any(flag.startswith(("-s", "--source")) for flag in flags) else "restored"
    elif program != "touch":
        kind, named = "made", _made(program, named)
    yield from (Effect(kind, word.text) for word in named if word.is_literal)


def _made(program: str, named: list[Word]) -> list[Word]:
    """Folders that a command creates or fills with a repository."""
    if program == "mkdir":
        return named
    at = {"git clone": 1, "git submodule": 2, "git worktree": 1}.get(program, 0)
    is_meant = at and len(named) > at and (program == "git clone" or named[0].text == "add")
    if not is_meant:
        return []
    made = named[1] if program == "git worktree" else named[-1]
    inner = Word(f".git/modules/{made.text}", made.start, made.end, made.is_literal)
    return [made, inner] if program == "git submodule" else [made]


def _written(program: str, words: list[Word], simple: Simple) -> Iterator[Effect]:
    body = next((item.body for item in simple.redirects if item.body is not None), None)
    if program in ("apply_patch", "applypatch"):
        for verb, path, to in PATCHED.findall(body or "\n".join(word.text for word in words)):
            yield Effect("renamed", path.strip(), to.strip()) if to else Effect(VERBS[verb], path.strip())
    for item in simple.redirects:
        if item.is_written and item.target.is_literal:
            kind: EffectKind = "touched" if ">>" in item.operator else "created"
            is_all = program == "cat" and not words and kind == "created"
            yield Effect(kind, item.target.text, content=body if is_all else None)


def _edited(words: list[Word]) -> list[Word]:
    """Files of `sed -i` and `perl -pi`: the words that are neither options nor the script."""
    left, has_script = [], False
    for before, word in pairwise([Word("", 0, 0), *words]):
        is_script = re.fullmatch(r"-[a-zA-Z]*[ef]|--expression|--file", before.text)
        has_script |= bool(is_script)
        if word.text and not is_script and not word.text.startswith("-"):
            left.append(word)
    is_edit = any(re.match(r"-[a-zA-Z]*i|--in-place", word.text) for word in words)
    return (left if has_script else left[1:]) if is_edit else []


def _moved(kind: EffectKind, named: list[Word]) -> Iterator[Effect]:
    """Effects of `mv` and `cp`. The target counts as a folder if it has no extension and a source has one."""
    *sources, target = named
    for source in sources:
        name = posixpath.basename(source.text.rstrip("/"))
        is_folder = len(sources) > 1 or target.text.endswith(("/", "."))
        is_folder |= "." in name[1:] and "." not in posixpath.basename(target.text)
        to = posixpath.join(target.text, name) if is_folder else target.text
        if source.is_literal:
            yield Effect(kind, source.text, to) if kind == "renamed" else Effect(kind, to)
