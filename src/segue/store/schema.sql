-- The shared store: one schema, on SQLite and on PostgreSQL.
--
-- A SESSION is a piece of work with an owner. A HANDOFF carries a package from one party to the next
-- within a session. Their rows hold the present; the past is in OPERATION, which is only ever added to:
-- each row says who changed what and when, with the subject as it was before and after, so any earlier
-- state can be shown, compared and restored. Undoing is one more operation, never a deletion.
--
-- The operations of a session form a CHAIN: they are numbered from 1 without gaps, and each carries the
-- hash of the one before it. HEAD holds the number and hash of the newest, so that a missing tail shows
-- as well as a missing middle; it is also the row that writers of the same chain wait for, which is why
-- numbers cannot fork. A row of session or handoff must equal the newest `after` that speaks of it:
-- `segue log verify` compares all of this.
--
-- An operation with an idempotency KEY happens once: a retry of its actor finds it by its key and changes
-- nothing.
-- A process can be killed after its commit and before it could say so; the key is how it asks again.
--
-- Large content (packages, briefs, receipts) is in BLOBs: named by the SHA-256 of what they hold,
-- compressed, immutable. On SQLite a blob is a file beside the database and is on disk before its row
-- goes in; on PostgreSQL it is a row of blob_data.
--
-- A LEASE is the right to work on something until a moment. Whoever claims it makes its token grow, and
-- what an earlier holder still sends is refused by its older token. A lease whose work is done stays, so
-- that its token goes on growing should the same thing be offered again.
--
-- Times are UTC text of one width (2026-11-16T09:30:00.000000Z), ids are text, structured values are
-- JSON in text. `meta` holds the schema's version and the store's own id.
--
-- This file is what a new store is made from. It equals the sum of migrations/, and a test proves it.

create table meta (
  key text primary key not null,
  value text not null
);

create table session (
  id text primary key not null,
  title text not null,
  owner text not null,
  project text not null,
  status text not null,
  epoch bigint not null,
  created_at text not null,
  updated_at text not null,
  transcripts text not null default '[]',
  satisfaction double precision,
  task text not null default 'null'
);
create index session_by_project on session (project, updated_at);

create table operation (
  id text primary key not null,
  chain text not null,
  n bigint not null,
  kind text not null,
  subject text not null,
  actor text not null,
  at text not null,
  before text,
  after text,
  undoes text,
  key text,
  request text,
  prev text not null,
  hash text not null
);
create unique index operation_by_chain on operation (chain, n);
create unique index operation_by_key on operation (actor, key);
create index operation_by_time on operation (at);
create index operation_by_subject on operation (subject);

create table head (
  chain text primary key not null,
  n bigint not null,
  hash text not null,
  at text not null
);

create table blob (
  hash text primary key not null,
  size bigint not null,
  stored bigint not null,
  added_at text not null
);

create table handoff (
  id text primary key not null,
  session text not null,
  source text not null,
  target text not null,
  tier text not null,
  state text not null,
  reason text not null,
  package text not null,
  receipt text not null,
  not_passed text not null,
  expected_output text not null,
  proof text not null,
  created_at text not null,
  updated_at text not null,
  transcript text not null default '',
  delivery text not null default 'null',
  event text not null default 'null',
  returns text not null default ''
);
create index handoff_by_session on handoff (session, created_at);

create table lease (
  subject text primary key not null,
  kind text not null,
  due_at text not null,
  token bigint not null,
  holder text,
  expires_at text,
  settled_at text
);
create index lease_by_kind on lease (kind, due_at);
