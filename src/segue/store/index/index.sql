-- The index: what was found in the transcripts of this machine. All of it can be found again, so a file
-- of another version, or a damaged one, is thrown away and made anew; nothing here is ever migrated.
--
-- A SOURCE is a transcript, or what is known of it. There are three passes over one, each with its own mark:
-- `spent_*` is where the quick pass for tokens ended, the others where the full pass ended, which gives
-- the transcript as JSON.
--
-- A LEDGER holds every answer of a model that a source tells of, packed, and the hashes of those that are counted
-- there. An answer that stands in several files (forks, resumes) is counted where it was first found;
-- when that source goes, it passes to another. A BUCKET sums what is counted in a source over a quarter of an
-- hour, per model and size class: any day in any time zone, any week and any 5-hour block is a sum of buckets. A
-- TOTAL is the sum of all sources' buckets; STALE are the quarters whose totals have to be made anew.
--
-- COUNTED holds the hashes of all ledgers once more, ordered, in a few long pieces: that an answer is not counted
-- anywhere yet, as nearly all new ones, is told by it without a look at every ledger.
--
-- A REPORT is what an agent told of a limit at a moment: how fast a limit is used up is read from these.
-- PASSAGE and WORDS are the full text of what people and agents said, made when it is first searched.
-- PRICE keeps what was looked up, because looking up is slow.

create table source (
  id integer primary key,
  agent text not null,
  path text not null,
  part text not null,
  size integer not null default -1,
  stamp integer not null default -1,
  mark text not null default '{}',
  spent_size integer not null default -1,
  spent_stamp integer not null default -1,
  spent_mark text not null default '{}',
  told_size integer not null default -1,
  told_stamp integer not null default -1,
  told_mark text not null default '{}',
  project text,
  transcript text,
  unique (path, part)
);

create table ledger (
  source integer primary key,
  keys blob not null,
  spends blob not null
);

create table counted (
  id integer primary key,
  keys blob not null
);

create table bucket (
  source integer not null,
  quarter integer not null,
  model text not null,
  class integer not null,
  answers integer not null,
  input integer not null,
  output integer not null,
  cache_read integer not null,
  cache_write integer not null,
  cache_write_long integer not null,
  cost real not null,
  primary key (quarter, model, class, source)
) without rowid;
create index bucket_by_source on bucket (source);

create table total (
  quarter integer not null,
  model text not null,
  class integer not null,
  answers integer not null,
  input integer not null,
  output integer not null,
  cache_read integer not null,
  cache_write integer not null,
  cache_write_long integer not null,
  cost real not null,
  primary key (quarter, model, class)
) without rowid;
create table stale (quarter integer primary key);

create table report (
  source integer not null,
  agent text not null,
  at text not null,
  told text not null
);
create index report_by_time on report (at);

create table price (
  model text primary key not null,
  data text not null,
  found text
);

create table passage (
  id integer primary key,
  source integer not null
);
create index passage_by_source on passage (source);
create virtual table words using fts5 (text);
