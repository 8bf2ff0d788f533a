-- CONFIRMED holds the agents whose transcripts inside a project folder the person confirmed to be their own.

create table confirmed (
  project text not null,
  agent text not null,
  at text not null,
  primary key (project, agent)
);
