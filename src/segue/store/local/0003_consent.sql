-- CONSENT holds to which vendors the person let the context of a project go.

create table consent (
  project text not null,
  vendor text not null,
  at text not null,
  primary key (project, vendor)
);
