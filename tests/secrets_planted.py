"""Secrets that were never anyone's, planted where real ones leak, and identifiers that are none.

Everything comes from a seed: the same seed, the same secrets. The shapes are those that vendors document or that
leaks were seen with; the surroundings are those of a coding session: shells, settings, code, logs, addresses.
"""

from __future__ import annotations

import base64
import json
import random
import string
import textwrap
import urllib.parse
from collections.abc import Callable
from typing import NamedTuple

B62 = string.ascii_letters + string.digits
URL = B62 + "-_"
B64 = B62 + "+/"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
SEED = 20_260_501
COUNT = 220


class Planted(NamedTuple):
    kind: str
    secret: str
    text: str
    """The secret with its surroundings."""


Random = random.Random
Make = Callable[[Random], str]


def some(random: Random, letters: str, length: int) -> str:
    return "".join(random.choice(letters) for _ in range(length))


def of(letters: str, length: int, prefix: str = "", suffix: str = "") -> Make:
    return lambda random: prefix + some(random, letters, length) + suffix


def one_of(*makers: Make) -> Make:
    return lambda random: random.choice(makers)(random)


def typed_password(random: Random) -> str:
    """What a person or a password manager makes up."""
    word = random.choice(
        ["Sommer", "winter", "Dragon", "tiger", "Falcon", "monkey", "Prague", "coffee", "Rocket"]
    )
    mark = random.choice("!#%+?_-.")
    return random.choice(
        [
            f"{word}{random.randint(10, 9999)}{mark}",
            f"{word[:3]}{mark}{some(random, B62, 6)}{random.randint(0, 9)}",
            some(random, B62, 10) + str(random.randint(10, 99)),
            some(random, B62 + "!#%+?_", 14) + "7x",
            word.lower().replace("o", "0").replace("e", "3").replace("i", "1")
            + str(random.randint(100, 999)),
        ]
    )


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def jwt(random: Random) -> str:
    def part(value: object) -> str:
        return (
            base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")
        )

    claims = {
        "sub": some(random, HEX, 12),
        "iat": random.randint(1_600_000_000, 1_800_000_000),
        "role": "admin",
    }
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{some(random, URL, 43)}"


def pem(random: Random, name: str = "RSA ", lines: int = 14) -> str:
    body = "\n".join(some(random, B64, 64) for _ in range(lines)) + "\n" + some(random, B64, 38) + "=="
    return f"-----BEGIN {name}PRIVATE KEY-----\n{body}\n-----END {name}PRIVATE KEY-----"


def uuid(random: Random) -> str:
    digits = some(random, HEX, 32)
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


GENERAL = (
    "$ echo ${name}\n{secret}\n$",
    "export {name}={secret}",
    '{name}="{secret}"\nDEBUG=false\n',
    '{{"service": "billing", "{camel}": "{secret}", "retries": 3}}',
    "services:\n  api:\n    environment:\n      {name}: {secret}\n      LOG_LEVEL: info\n",
    'const client = new Client({{ {camel}: "{secret}", timeout: 30 }});',
    "    client = Client({snake}='{secret}')\n    return client.get('/v1/items')",
    "2026-05-01T10:12:44Z DEBUG config loaded {snake}={secret} region=eu-west-1",
    "-e {name}={secret} -p 8080:8080 registry.local/app:1.4.2",
    'resource "app" "main" {{\n  {snake} = "{secret}"\n  size = 2\n}}\n',
    "+{name}={secret}\n-{name}=\n diff --git a/.env b/.env",
    'os.environ["{name}"] = "{secret}"',
)
"""Where any secret with a name leaks."""
BARE = (
    "use this one: {secret}",
    "Created token {secret}. Copy it now, it is shown once.",
    "https://api.service.io/v1/items?page=2&access={secret}&limit=10",
    "git remote add origin https://{secret}@git.service.io/team/repo.git",
    "error: 401 for {secret} at client.go:214",
    '["first", "{secret}", 42]',
)
"""Where a secret leaks without a name: it must tell by itself."""


class Kind(NamedTuple):
    name: str
    variable: str
    make: Make
    places: tuple[str, ...] = GENERAL + BARE


def with_name(name: str, variable: str, make: Make) -> Kind:
    """A secret that only its name gives away."""
    return Kind(name, variable, make, GENERAL)


KINDS = (
    Kind("aws access key", "AWS_ACCESS_KEY_ID", one_of(of(string.ascii_uppercase + "234567", 16, "AKIA"), of(string.ascii_uppercase + "234567", 16, "ASIA"))),
    with_name("aws secret key", "AWS_SECRET_ACCESS_KEY", of(B64, 40)),
    Kind("github token", "GITHUB_TOKEN", one_of(of(B62, 36, "ghp_"), of(B62, 36, "gho_"), of(B62, 36, "ghs_"))),
    Kind("github fine-grained token", "GH_TOKEN", lambda r: f"github_pat_{some(r, B62, 22)}_{some(r, B62, 59)}"),
    Kind("gitlab token", "GITLAB_TOKEN", of(URL, 20, "glpat-")),
    Kind("slack bot token", "SLACK_BOT_TOKEN", lambda r: f"xoxb-{some(r, string.digits, 12)}-{some(r, string.digits, 12)}-{some(r, B62, 24)}"),
    Kind("slack webhook", "SLACK_URL", lambda r: f"https://hooks.slack.com/services/T{some(r, UPPER, 10)}/B{some(r, UPPER, 10)}/{some(r, B62, 24)}", BARE[:2] + GENERAL),
    Kind("stripe key", "STRIPE_KEY", one_of(of(B62, 24, "sk_live_"), of(B62, 99, "sk_live_51"), of(B62, 24, "rk_live_"))),
    Kind("stripe webhook secret", "STRIPE_WEBHOOK_SECRET", of(B62, 32, "whsec_")),
    Kind("anthropic key", "ANTHROPIC_API_KEY", of(URL, 93, "sk-ant-api03-", "AA")),
    Kind("openai key", "OPENAI_API_KEY", one_of(of(URL, 120, "sk-proj-"), lambda r: f"sk-{some(r, B62, 20)}T3BlbkFJ{some(r, B62, 20)}")),
    Kind("google api key", "GOOGLE_API_KEY", of(URL, 35, "AIza")),
    Kind("google oauth secret", "GOOGLE_CLIENT_SECRET", of(URL, 28, "GOCSPX-")),
    Kind("google oauth token", "ACCESS_TOKEN", of(URL, 140, "ya29.a0Ad")),
    Kind("npm token", "NPM_TOKEN", of(B62, 36, "npm_")),
    Kind("pypi token", "TWINE_PASSWORD", of(URL, 150, "pypi-AgEIcHlwaS5vcmcC")),
    Kind("docker token", "DOCKER_TOKEN", of(URL, 27, "dckr_pat_")),
    Kind("hugging face token", "HF_TOKEN", of(string.ascii_letters, 34, "hf_")),
    Kind("sendgrid key", "SENDGRID_API_KEY", lambda r: f"SG.{some(r, URL, 22)}.{some(r, URL, 43)}"),
    Kind("mailgun key", "MAILGUN_KEY", of(HEX, 32, "key-")),
    Kind("mailchimp key", "MAILCHIMP_KEY", lambda r: f"{some(r, HEX, 32)}-us{r.randint(1, 21)}"),
    Kind("twilio key", "TWILIO_API_KEY", of(HEX, 32, "SK")),
    with_name("twilio auth token", "TWILIO_AUTH_TOKEN", of(HEX, 32)),
    Kind("digitalocean token", "DO_TOKEN", of(HEX, 64, "dop_v1_")),
    with_name("heroku key", "HEROKU_API_KEY", uuid),
    Kind("shopify token", "SHOPIFY_TOKEN", of(HEX, 32, "shpat_")),
    Kind("telegram token", "TELEGRAM_BOT_TOKEN", lambda r: f"{r.randint(10**8, 10**10 - 1)}:AA{some(r, URL, 33)}", GENERAL + BARE[:2]),
    Kind("discord token", "DISCORD_TOKEN", lambda r: f"M{some(r, B62, 23)}.{some(r, URL, 6)}.{some(r, URL, 38)}"),
    Kind("jwt", "SESSION_JWT", jwt),
    Kind("databricks token", "DATABRICKS_TOKEN", of(HEX, 32, "dapi")),
    with_name("datadog key", "DD_API_KEY", of(HEX, 32)),
    Kind("new relic key", "NEW_RELIC_API_KEY", of(UPPER, 27, "NRAK-")),
    Kind("grafana token", "GRAFANA_TOKEN", lambda r: f"glsa_{some(r, B62, 32)}_{some(r, HEX, 8)}"),
    Kind("vault token", "VAULT_TOKEN", of(URL, 95, "hvs.CAESI")),
    Kind("terraform token", "TFE_TOKEN", lambda r: f"{some(r, B62, 14)}.atlasv1.{some(r, URL, 67)}"),
    Kind("linear key", "LINEAR_API_KEY", of(B62, 40, "lin_api_")),
    Kind("notion token", "NOTION_TOKEN", one_of(of(B62, 46, "ntn_"), of(B62, 43, "secret_"))),
    Kind("doppler token", "DOPPLER_TOKEN", of(B62, 43, "dp.pt.")),
    Kind("supabase token", "SUPABASE_ACCESS_TOKEN", of(HEX, 40, "sbp_")),
    Kind("tailscale key", "TS_AUTHKEY", lambda r: f"tskey-auth-k{some(r, B62, 11)}CNTRL-{some(r, B62, 32)}"),
    Kind("atlassian token", "JIRA_API_TOKEN", of(URL, 180, "ATATT3xFfGF0", "=" + "1A2B3C4D")),
    Kind("groq key", "GROQ_API_KEY", of(B62, 52, "gsk_")),
    Kind("replicate token", "REPLICATE_API_TOKEN", of(B62, 37, "r8_")),
    Kind("rubygems key", "GEM_HOST_API_KEY", of(HEX, 48, "rubygems_")),
    Kind("square token", "SQUARE_ACCESS_TOKEN", of(URL, 22, "sq0atp-")),
    Kind("azure client secret", "AZURE_CLIENT_SECRET", lambda r: f"{some(r, B62, 3)}8Q~{some(r, B62 + '~.-_', 34)}"),
    with_name("azure storage key", "AZURE_STORAGE_KEY", lambda r: some(r, B64, 86) + "=="),
    with_name("flask secret key", "SECRET_KEY", one_of(of(HEX, 48), of(B62 + "!@#%^&*-_=+", 50, "", "9"))),
    with_name("client secret", "OAUTH_CLIENT_SECRET", of(URL, 40)),
    with_name("refresh token", "REFRESH_TOKEN", of(URL, 64)),
    with_name("encryption key", "APP_ENCRYPTION_KEY", lambda r: encoded(some(r, B62 + "!$/", 32))),
    with_name("password", "DB_PASSWORD", typed_password),
    with_name("admin password", "ADMIN_PASSWD", typed_password),
    Kind("password in an address", "DATABASE_URL", typed_password, (
        "DATABASE_URL=postgres://app:{secret}@db.internal:5432/shop",
        "mongodb+srv://svc:{secret}@cluster0.ab1cd.mongodb.net/prod?retryWrites=true",
        '"broker": "amqp://worker:{secret}@mq:5672/%2f",',
        "redis://:{secret}@cache.internal:6379/0",
        "origin\thttps://deploy:{secret}@git.service.io/team/repo.git (fetch)",
    )),
    Kind("password on a command line", "", typed_password, (
        "$ curl -u admin:{secret} https://ci.internal/job/12",
        "$ mysql -h db -u root -p{secret} shop < dump.sql",
        "$ sshpass -p '{secret}' ssh root@10.0.0.7 uptime",
        "$ tool login --username ada --password {secret}",
        "PGPASSWORD={secret} psql -h db -U app",
    )),
    Kind("password in a file", "", typed_password, (
        "machine api.service.io login ada password {secret}",
        "db.internal:5432:shop:app:{secret}\n",
        "<server>\n  <username>ci</username>\n  <password>{secret}</password>\n</server>",
        "spring.datasource.password={secret}\nspring.datasource.username=app\n",
        "Server=db;User Id=app;Password={secret};Encrypt=true",
        "CREATE USER app IDENTIFIED BY '{secret}';",
    )),
    Kind("password in a sentence", "", typed_password, (
        "the staging password is {secret} by the way",
        "Login with user admin, password: {secret}",
        "set the password to {secret} and try again",
    )),
    Kind("basic authorization", "", lambda r: encoded(f"ada:{typed_password(r)}"), (
        "Authorization: Basic {secret}",
        '-H "Authorization: Basic {secret}" https://api.internal/v2',
        '{{"auths": {{"registry.io": {{"auth": "{secret}"}}}}}}',
    )),
    Kind("bearer authorization", "", of(URL, 48), (
        "Authorization: Bearer {secret}",
        'headers = {{"Authorization": f"Bearer {secret}"}}',
        '> GET /me HTTP/1.1\n> authorization: bearer {secret}\n>',
    )),
    Kind("api key header", "", of(B62, 40), (
        "X-Api-Key: {secret}",
        'curl -H "x-api-key: {secret}" https://api.internal',
        "fetch(url, {{ headers: {{ 'X-Auth-Token': '{secret}' }} }})",
    )),
    Kind("cookie", "", of(B62, 40), (
        "Cookie: theme=dark; sessionid={secret}; lang=en",
        "Set-Cookie: connect.sid={secret}; Path=/; HttpOnly",
        "curl --cookie 'sid={secret}' https://app.internal",
    )),
    Kind("private key", "", one_of(pem, lambda r: pem(r, ""), lambda r: pem(r, "OPENSSH "), lambda r: pem(r, "EC ", 3)), ("$ cat id_key\n{secret}\n$", "{secret}", "key = '''{secret}'''")),
    Kind("signed address", "", lambda r: urllib.parse.quote(some(r, B64, 43) + "=", safe=""), ("https://acct.blob.core.windows.net/c/f?sv=2024-11-04&se=2026-01-01&sig={secret}",)),
    Kind("password hash", "", lambda r: f"2b$12${some(r, B62 + './', 53)}", ("ada:${secret}:19000", "('ada', '${secret}')")),
)  # fmt: skip


def planted(seed: int = SEED, count: int = COUNT) -> list[Planted]:
    """Secrets of every kind in turn, each in other surroundings."""
    random = Random(seed)
    found = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        secret = kind.make(random)
        place = random.choice(kind.places)
        found.append(Planted(kind.name, secret, _placed(place, secret, kind.variable)))
    return found


def _placed(place: str, secret: str, variable: str) -> str:
    words = variable.lower().split("_")
    camel = words[0] + "".join(word.title() for word in words[1:])
    return place.format(secret=secret, name=variable, camel=camel, snake=variable.lower())


# The same, in disguise


class Disguised(NamedTuple):
    text: str
    leaks: tuple[str, ...]
    """What must not be left of it, in whole."""


def plain(item: Planted, number: int) -> Disguised:
    return Disguised(f"Some words before.\n{item.text}\nAnd after.\n", (item.secret,))


def in_base64(item: Planted, number: int) -> Disguised:
    if number % 2:
        inner = encoded(item.text)
        return Disguised(f"data: {inner}\n", (inner,))
    inner = encoded(item.secret)
    return Disguised(item.text.replace(item.secret, inner), (inner,))


def in_percent_signs(item: Planted, number: int) -> Disguised:
    if number % 2:
        inner = urllib.parse.quote(item.secret, safe="")
        return Disguised(f"GET /log?body={urllib.parse.quote(item.text, safe='')}&n=1 HTTP/1.1", (inner,))
    inner = "".join(f"%{ord(char):02X}" for char in item.secret)
    around = item.text.split(item.secret)
    return Disguised("log?body=" + inner.join(urllib.parse.quote(part, safe="") for part in around), (inner,))


def in_json(item: Planted, number: int) -> Disguised:
    if number % 2:
        line = json.dumps({"type": "tool_result", "content": json.dumps({"out": item.text})})
        return Disguised(
            line.replace("/", "\\/"), (json.dumps(json.dumps(item.secret)[1:-1])[1:-1].replace("/", "\\/"),)
        )
    inner = "".join(char if n % 3 else f"\\u{ord(char):04x}" for n, char in enumerate(item.secret))
    around = [json.dumps(part)[1:-1] for part in item.text.split(item.secret)]
    return Disguised('{"content": "' + inner.join(around) + '"}', (inner,))


def in_base64_twice(item: Planted, number: int) -> Disguised:
    inner = encoded(encoded(item.text) if number % 2 else json.dumps({"body": item.text}))
    return Disguised(f"payload={inner}", (inner,))


def in_hex(item: Planted, number: int) -> Disguised:
    inner = item.text.encode().hex()
    return Disguised(f"0x{inner}\n" if number % 2 else f"dump: {inner}", (inner,))


def in_broken_lines(item: Planted, number: int) -> Disguised:
    lines = textwrap.wrap(encoded("Some words before it.\n" + item.text + "\nand some behind it."), 76)
    return Disguised(
        "attachment:\n" + "\n".join(lines) + "\n", tuple(line for line in lines[:-1] if len(line) == 76)
    )


DISGUISES: dict[str, Callable[[Planted, int], Disguised]] = {
    "plain": plain,
    "base64": in_base64,
    "url": in_percent_signs,
    "json": in_json,
    "base64 twice": in_base64_twice,
    "hex": in_hex,
    "base64 in lines": in_broken_lines,
}


def is_gone(disguised: Disguised, redacted: str) -> bool:
    """Whether nothing of use is left: of a long secret, not even half of it in one piece."""
    for leak in disguised.leaks:
        size = max(6, len(leak) // 2)
        if any(leak[at : at + size] in redacted for at in range(max(1, len(leak) - size + 1))):
            return False
    return True


# What is no secret


def identifiers(seed: int = SEED, count: int = 2000) -> list[tuple[str, str]]:
    """Kinds of names and hashes that work is full of, with their surroundings."""
    random = Random(seed)
    words = [
        "user",
        "order",
        "config",
        "parser",
        "token",
        "session",
        "render",
        "stream",
        "buffer",
        "auth",
        "index",
        "cache",
        "secret",
        "worker",
        "handler",
        "key",
    ]

    def name(parts: int, glue: str) -> str:
        return glue.join(random.choice(words) for _ in range(parts))

    def camel() -> str:
        return "".join(random.choice(words).title() for _ in range(random.randint(2, 5))) + random.choice(
            ["", "2", "V3"]
        )

    makers: list[tuple[str, Callable[[], str]]] = [
        ("commit", lambda: f"commit {some(random, HEX, 40)}"),
        ("short commit", lambda: f"[main {some(random, HEX, 7)}] Fix {name(2, ' ')}"),
        ("uuid", lambda: f'"sessionId": "{uuid(random)}"'),
        ("uuid id", lambda: f"request_id={uuid(random)}"),
        ("sha256", lambda: f"sha256:{some(random, HEX, 64)}  dist/{name(2, '-')}.tar.gz"),
        ("md5 etag", lambda: f'ETag: "{some(random, HEX, 32)}"'),
        ("integrity", lambda: f'"integrity": "sha512-{some(random, B64, 86)}=="'),
        ("go.sum", lambda: f"github.com/acme/{name(1, '')} v1.{random.randint(0, 40)}.0 h1:{some(random, B64, 43)}="),
        ("tool id", lambda: f'"tool_use_id": "toolu_01{some(random, B62, 22)}"'),
        ("message id", lambda: f'"id":"msg_01{some(random, B62, 22)}","model":"m"'),
        ("call id", lambda: f'"call_id":"call_{some(random, B62, 24)}"'),
        ("request id", lambda: f'"requestId":"req_011C{some(random, B62, 20)}"'),
        ("image", lambda: f'"data":"iVBORw0KGgoAAAANSUhEUgAA{some(random, B64, 400)}"'),
        ("docker id", lambda: f"{some(random, HEX, 12)}   postgres:16   Up 3 hours"),
        ("path", lambda: f"src/{name(2, '/')}/{name(3, '_')}_{random.randint(1, 99)}.py:{random.randint(1, 900)}"),
        ("class", lambda: f"class {camel()}Factory({camel()}Base):"),
        ("call", lambda: f"const {name(1, '')} = get{camel()}(request.{name(2, '_')});"),
        ("password type", lambda: "password: string; newPassword?: string; passwordHash: Buffer"),
        ("password code", lambda: f"password = self.{name(2, '_')}.password"),
        ("password test", lambda: f"def test_{name(4, '_')}_password_is_required() -> None:"),
        ("token count", lambda: f'"input_tokens": {random.randint(1, 99999)}, "cache_read_input_tokens": {random.randint(1, 999999)}'),
        ("token code", lambda: f"token = await {name(1, '')}Service.create{camel()}Token(userId)"),
        ("api key code", lambda: f'api_key=os.environ["{name(2, "_").upper()}_API_KEY"]'),
        ("env reference", lambda: f"      DB_PASSWORD: ${{{name(2, '_').upper()}_PASSWORD}}"),
        ("stand-in", lambda: random.choice(["API_KEY=your-api-key-here", "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "PASSWORD=changeme", "token: <your token>"])),
        ("slug", lambda: f"https://blog.io/{random.randint(2010, 2026)}/0{random.randint(1, 9)}/{name(6, '-')}"),
        ("branch", lambda: f"feature/{random.randint(100, 9999)}-{name(4, '-')}"),
        ("version", lambda: f"{name(2, '-')}@{random.randint(0, 20)}.{random.randint(0, 90)}.{random.randint(0, 9)}-rc.{random.randint(1, 9)}"),
        ("timestamp", lambda: f"2026-0{random.randint(1, 9)}-11T0{random.randint(0, 9)}:12:{random.randint(10, 59)}.{random.randint(100, 999)}Z"),
        ("k8s name", lambda: f"pod/{name(2, '-')}-{some(random, 'bcdfghjklmnpqrstvwxz2456789', 10)}-{some(random, 'bcdfghjklmnpqrstvwxz2456789', 5)}"),
        ("secret name", lambda: f"secretName: {name(3, '-')}-tls"),
        ("s3 key", lambda: f"s3://bucket/{name(2, '/')}/part-{random.randint(0, 99999):05d}-{uuid(random)}.parquet"),
        ("public key", lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{some(random, B64, 43)} ada@laptop"),
        ("base64 text", lambda: encoded(f"{name(9, ' ')} {random.randint(1, 99)} {name(4, ' ')}")),
        ("css", lambda: f".{name(2, '-')}__{name(1, '')}--{some(random, HEX, 6)} {{ color: #{some(random, HEX, 6)}; }}"),
        ("address", lambda: f"http://localhost:{random.randint(3000, 9000)}/{name(2, '/')}?page={random.randint(1, 9)}&sort={name(1, '')}"),
        ("hex dump", lambda: f"0000{some(random, HEX, 4)}: " + " ".join(some(random, HEX, 4) for _ in range(8))),
        ("cache key", lambda: f"cache_key: {name(2, '-')}-{some(random, HEX, 40)}"),
    ]  # fmt: skip
    return [(makers[n % len(makers)][0], makers[n % len(makers)][1]()) for n in range(count)]
