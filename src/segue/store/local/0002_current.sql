-- CURRENT holds the session that the person chose for a project folder on this machine.

create table current (
  project text primary key not null,
  session text not null,
  at text not null
);
