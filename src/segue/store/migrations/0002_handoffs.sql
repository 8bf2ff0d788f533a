-- Handoffs within a session.

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
  updated_at text not null
);
create index handoff_by_session on handoff (session, created_at);
