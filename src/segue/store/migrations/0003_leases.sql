-- Leases on steps, messages and worktrees.

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
