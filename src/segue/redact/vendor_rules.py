"""Tokens recognised by their own shape: a vendor's prefix, and enough after it.

They are tables, so that a new vendor is a new line. Vendors publish their prefixes so that leaks can be found. Each
body is as long as the vendor's shortest. A token never begins within a longer word.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

from segue.redact import value_shape

B62 = "[A-Za-z0-9]"
B64 = "[A-Za-z0-9+/]"
URL = r"[\w-]"
HEX = "[0-9a-f]"

PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("adafruit-key", "aio_", rf"{B62}{{28}}"),
    ("age-key", "AGE-SECRET-KEY-1", r"[02-9AC-HJ-NP-Z]{58}"),
    ("airtable-token", "pat", rf"{B62}{{14}}\.{HEX}{{64}}"),
    ("alibaba-key", "LTAI", rf"{B62}{{12,24}}(?!{B62})"),
    ("anthropic-key", "sk-ant-", rf"[a-z]{{2,10}}\d{{2}}-{URL}{{40,200}}"),
    ("atlassian-token", "ATATT3 ATCTT3", r"[\w=-]{80,250}"),
    ("aws-access-key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    ("aws-bedrock-key", "ABSK", rf"{B64}{{100,270}}={{0,2}}"),
    ("bitbucket-token", "ATBB", rf"{B62}{{28,40}}"),
    ("brevo-key", "xkeysib-", rf"{HEX}{{64}}-{B62}{{16}}"),
    ("buildkite-token", "bkua_ bkat_ bkct_", rf"{B62}{{30,60}}"),
    ("circleci-token", "CCIPAT_ CCIPRJ_", rf"{B62}{{20,24}}_{HEX}{{40}}"),
    ("clojars-token", "CLOJARS_", rf"{HEX}{{60}}"),
    ("cloudflare-key", "v1.0-", rf"{HEX}{{24}}-{HEX}{{146}}"),
    ("contentful-token", "CFPAT-", rf"{URL}{{43}}"),
    ("crates-token", "cio", rf"{B62}{{32}}(?!{B62})"),
    ("databricks-token", "dapi", rf"{HEX}{{32}}(?:-\d)?(?!{B62})"),
    ("deepseek-key", "sk-", rf"{HEX}{{32}}(?!{URL})"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{HEX}{{64}}"),
    (
        "discord-webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        rf"\d{{15,20}}/{URL}{{60,80}}",
    ),
    ("docker-token", "dckr_pat_ dckr_oat_", rf"{URL}{{20,64}}"),
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[\w.-]{40,60}"),
    ("duffel-token", "duffel_live_ duffel_test_", rf"{URL}{{40,50}}"),
    ("dynatrace-token", "dt0", r"[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("easypost-key", "EZAK EZTK", rf"{B62}{{54}}"),
    ("facebook-token", "EAA", rf"[A-Z]{B62}{{80,250}}"),
    ("figma-token", "figd_ figu_ figo_ figdr_ figur_", rf"{URL}{{38,60}}"),
    ("flutterwave-key", "FLWSECK_TEST- FLWSECK_LIVE- FLWSECK-", rf"{B62}{{12,40}}(?:-X)?"),
    ("flyio-token", "fm1_ fm2_ fm1a_ fm1r_ fo1_", r"[A-Za-z0-9+/_-]{43,700}={0,3}"),
    ("frameio-token", "fio-u-", rf"{URL}{{64}}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{B62}{{36,255}}"),
    ("github-token", "github_pat_", rf"{B62}{{22}}_{B62}{{59}}"),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-",
        rf"{URL}{{20,64}}(?:\.{URL}{{2,12}}){{0,2}}",
    ),
    ("google-api-key", "AIza", rf"{URL}{{35}}(?!{URL})"),
    ("google-oauth-secret", "GOCSPX-", rf"{URL}{{28}}"),
    ("google-oauth-token", "ya29.", rf"{URL}{{30,300}}"),
    ("google-refresh-token", "1//0", rf"{URL}{{40,120}}"),
    ("grafana-token", "glsa_", rf"{B62}{{32}}_[0-9A-Fa-f]{{8}}"),
    ("grafana-token", "glc_", rf"{B64}{{32,400}}={{0,2}}"),
    ("groq-key", "gsk_", rf"{B62}{{48,56}}"),
    ("heroku-key", "HRKU-", rf"{URL}{{36,64}}"),
    ("huggingface-token", "hf_ api_org_", rf"[A-Za-z]{{34}}(?!{B62})"),
    ("jfrog-token", "AKCp cmVmdGtu", rf"{B62}{{50,90}}"),
    ("jwt", "eyJ eyI", rf"{URL}{{10,400}}\.{URL}{{12,8000}}\.{URL}{{16,800}}"),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_", rf"{HEX}{{32}}_{HEX}{{10}}"),
    ("linear-key", "lin_api_ lin_oauth_", rf"{B62}{{32,64}}"),
    ("mailgun-key", "key-", rf"{HEX}{{32}}(?!{B62})"),
    ("mapbox-token", "sk.eyJ", rf"{URL}{{40,120}}\.{URL}{{20,30}}"),
    ("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", rf"{B62}{{36,40}}"),
    ("newrelic-key", "NRAK-", r"[A-Z0-9]{27}"),
    ("newrelic-key", "NRII- NRIQ-", rf"{URL}{{32}}"),
    ("notion-token", "ntn_ secret_", rf"{B62}{{40,50}}(?!{B62})"),
    ("npm-token", "npm_", rf"{B62}{{36}}(?!{B62})"),
    ("nuget-key", "oy2", rf"[a-z0-9]{{43}}(?!{B62})"),
    ("onepassword-token", "ops_eyJ", r"[A-Za-z0-9+/_-]{100,1200}={0,2}"),
    ("onepassword-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}"),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{URL}{{40,240}}"),
    ("openai-key", "sk-", rf"(?:{B62}{{20}}T3BlbkFJ{B62}{{20}}|{B62}{{48}})(?!{B62})"),
    ("openrouter-key", "sk-or-v", rf"\d-{HEX}{{64}}"),
    ("perplexity-key", "pplx-", rf"{B62}{{40,64}}"),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{32,64}"),
    ("postman-key", "PMAK-", rf"{HEX}{{24}}-{HEX}{{34}}"),
    ("prefect-key", "pnu_ pnb_", rf"{B62}{{36}}"),
    ("pulumi-token", "pul-", rf"{HEX}{{40}}"),
    ("pypi-token", "pypi-AgE", rf"{URL}{{60,250}}"),
    ("readme-key", "rdme_", r"[a-z0-9]{70}"),
    ("render-key", "rnd_", rf"{B62}{{28,40}}"),
    ("replicate-token", "r8_", rf"{B62}{{37}}"),
    ("rubygems-key", "rubygems_", rf"{HEX}{{48}}"),
    ("sendgrid-key", "SG.", rf"{URL}{{18,24}}\.{URL}{{39,50}}"),
    ("sentry-token", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_]{40,250}"),
    ("shippo-token", "shippo_live_ shippo_test_", rf"{HEX}{{40}}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[0-9a-fA-F]{32}"),
    ("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.", r"[A-Za-z0-9%.-]{20,250}"),
    ("slack-token", "xapp-", r"\d-[A-Z0-9]{8,14}-\d{8,16}-[a-z0-9]{32,128}"),
    (
        "slack-webhook",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        rf"{B62}{{8,14}}/[A-Za-z0-9/]{{20,80}}",
    ),
    ("square-token", "sq0atp- sq0csp- sq0idp-", rf"{URL}{{22,60}}"),
    ("square-token", "EAAAl EAAAE", rf"{URL}{{58,62}}"),
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", rf"{B62}{{16,240}}"),
    ("stripe-webhook-secret", "whsec_", rf"{B64}{{24,64}}={{0,2}}"),
    ("supabase-token", "sbp_ sb_secret_", rf"(?:v0_)?(?:{HEX}{{40}}|{URL}{{22,48}})"),
    ("tailscale-key", "tskey-", rf"[a-z]{{2,12}}-{B62}{{8,50}}(?:-{B62}{{20,40}})?"),
    ("tencent-key", "AKID", rf"{B62}{{32}}(?!{B62})"),
    ("typeform-token", "tfp_", rf"{URL}{{40,64}}"),
    ("vault-token", "hvs. hvb. hvr.", rf"{URL}{{24,300}}"),
    ("vercel-token", "vcp_ vck_ vci_ vca_ vcr_", rf"{B62}{{50,64}}"),
    ("xai-key", "xai-", rf"{B62}{{70,90}}"),
    ("yandex-key", "AQVN y0_", rf"{URL}{{35,60}}"),
)
"""A kind, its prefixes, and what must follow them."""

MARKED: tuple[tuple[str, str, str], ...] = (
    ("azure-client-secret", "Q~", r"[\w~.-]{3}\dQ~[\w~.-]{31,34}"),
    ("discord-token", ".", rf"[MNO](?<![A-Za-z0-9].){URL}{{23,27}}\.{URL}{{6}}\.{URL}{{27,40}}"),
    ("mailchimp-key", "-us", rf"(?<![A-Za-z0-9]){HEX}{{32}}-us\d{{1,2}}(?!{B62})"),
    ("newrelic-key", "NRAL", rf"(?<![A-Za-z0-9]){HEX}{{36}}NRAL"),
    (
        "teams-webhook",
        "webhook.office.com",
        r"webhook\.office\.com/webhookb2/[\w@-]{36,80}/IncomingWebhook/[0-9a-f]{32}/[0-9a-f-]{36}",
    ),
    ("telegram-token", ":AA", rf"(?<![A-Za-z0-9])\d{{8,10}}:AA{URL}{{33}}(?!{URL})"),
    ("terraform-token", ".atlasv1.", rf"(?<![A-Za-z0-9]){B62}{{14}}\.atlasv1\.[\w=-]{{60,70}}"),
    ("twilio-key", "SK", rf"SK(?<![A-Za-z0-9]SK){HEX}{{32}}(?!{B62})"),
    *(
        ("vendor-key", mark, rf"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]{{1,11}}{mark}{B62}{{24,120}}")
        for mark in ("_live_", "_test_", "_prod_", "_pat_", "_api_", "_key_", "_secret_", "_sk_", "_token_")
    ),
)
"""Tokens without a prefix: a kind, what must be somewhere in them, and their whole shape."""

compiled = cache(re.compile)
"""Patterns are compiled on first use: few texts need many."""
SHORTEST = 20
"""No token is shorter."""

Rows = list[tuple[str, str, str]]


def _by_start() -> dict[str, Rows]:
    table: dict[str, Rows] = {}
    for kind, prefixes, body in PREFIXED:
        for prefix in prefixes.split():
            table.setdefault(prefix[:3], []).append((kind, prefix, body))
    # The longest prefix first: it is the most specific.
    return {start: sorted(rows, key=lambda row: -len(row[1])) for start, rows in table.items()}


def _any_of(starts: Iterable[str]) -> str:
    """A pattern for any of them, by first letters, which is faster than one by one."""
    by_letter: dict[str, list[str]] = {}
    for start in sorted(starts):
        by_letter.setdefault(start[0], []).append(re.escape(start[1:]))
    branches = [f"{re.escape(letter)}(?:{'|'.join(ends)})" for letter, ends in by_letter.items()]
    return f"(?:{'|'.join(branches)})"


BLOB = re.compile(r"[A-Za-z0-9+/]{200,}")
BY_START = _by_start()
START = re.compile(f"(?<![A-Za-z0-9]){_any_of(BY_START)}")
PREFIXES = tuple(prefix for _, prefixes, _ in PREFIXED for prefix in prefixes.split())
ANY_PREFIX = _any_of(PREFIXES)
LIKE_ESCAPES = _any_of(prefix for prefix in PREFIXES if prefix[0] in "bfnrt")
"""Prefixes that look like an escape after a backslash."""


def _is_chance(text: str, start: int, end: int) -> bool:
    """A stand-in; or part of a long stretch of base64, where any letters occur."""
    if text[start - 1 : start] in ("/", "+") and BLOB.fullmatch(text, max(0, start - 100), end + 100):
        return True
    return value_shape.is_dummy(text[start:end])


def find(runs: Iterable[str]) -> Iterator[tuple[str, int, int, str]]:
    """The tokens in these runs of characters: start, end and kind."""
    runs = list(runs)
    text = "\n".join(runs)
    starts = list(itertools.accumulate((len(run) + 1 for run in runs), initial=0))
    done = 0
    for at in START.finditer(text):
        for kind, prefix, body in BY_START[at.group()]:
            start = at.start()
            if start >= done and text.startswith(prefix, start):
                found = compiled(body).match(text, start + len(prefix))
                if found and not _is_chance(text, start, found.end()):
                    done = found.end()
                    number = bisect_right(starts, start) - 1
                    yield runs[number], start - starts[number], done - starts[number], kind
    for kind, mark, pattern in MARKED:
        for run in [run for run in runs if mark in run]:
            for token in compiled(pattern).finditer(run):
                if not value_shape.is_dummy(token.group()):
                    yield run, *token.span(), kind
