-- The local store: one user, one machine, never shared. TRUST holds the project settings files that the
-- person has read and trusts; a file that changed since (another hash) is not trusted any more.

create table meta (
  key text primary key not null,
  value text not null
);

create table trust (
  path text primary key not null,
  hash text not null,
  at text not null
);
