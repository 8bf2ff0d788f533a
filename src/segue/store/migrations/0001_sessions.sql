-- Sessions, their history, and the content they refer to.

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
  updated_at text not null
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
