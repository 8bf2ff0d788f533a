-- Statements of the shared store, for both databases. `-- name: x` starts one; the comment below states its purpose.
-- Values are :named. queries.postgres.sql overrides the few that differ.

-- name: meta_all
-- The store's schema version and id.
select key, value from meta;

-- name: meta_put
-- Set a value of meta.
insert into meta (key, value) values (:key, :value)
on conflict (key) do update set value = excluded.value;

-- name: session_get
-- One session.
select * from session where id = :id;

-- name: session_put
-- Write a session's present state.
insert into session (
  id, title, owner, project, status, epoch, created_at, updated_at, transcripts, satisfaction, task
)
values (
  :id, :title, :owner, :project, :status, :epoch, :created_at, :updated_at, :transcripts, :satisfaction, :task
)
on conflict (id) do update set
  title = excluded.title, owner = excluded.owner, project = excluded.project, status = excluded.status,
  epoch = excluded.epoch, created_at = excluded.created_at, updated_at = excluded.updated_at,
  transcripts = excluded.transcripts, satisfaction = excluded.satisfaction, task = excluded.task;

-- name: session_drop
-- Remove a session whose creation was undone; its chain stays.
delete from session where id = :id;

-- name: session_list
-- Sessions, last updated first.
select * from session order by updated_at desc, id limit :limit;

-- name: session_by_project
-- The open sessions of a project, last updated first.
select * from session where project = :project and status = 'open' order by updated_at desc, id limit :limit;

-- name: session_find
-- Sessions by id prefix.
select * from session where substr(id, 1, length(:prefix)) = :prefix order by id limit 3;

-- name: handoff_get
-- One handoff.
select * from handoff where id = :id;

-- name: handoff_put
-- Write a handoff's present state.
insert into handoff (id, session, source, target, tier, state, reason, package, receipt, not_passed,
  expected_output, proof, created_at, updated_at, transcript, delivery, event, returns)
values (:id, :session, :source, :target, :tier, :state, :reason, :package, :receipt, :not_passed,
  :expected_output, :proof, :created_at, :updated_at, :transcript, :delivery, :event, :returns)
on conflict (id) do update set
  session = excluded.session, source = excluded.source, target = excluded.target, tier = excluded.tier,
  state = excluded.state, reason = excluded.reason, package = excluded.package,
  receipt = excluded.receipt, not_passed = excluded.not_passed,
  expected_output = excluded.expected_output, proof = excluded.proof,
  created_at = excluded.created_at, updated_at = excluded.updated_at,
  transcript = excluded.transcript, delivery = excluded.delivery, event = excluded.event,
  returns = excluded.returns;

-- name: handoff_drop
-- Remove a handoff whose preparation was undone; its operations stay.
delete from handoff where id = :id;

-- name: handoff_list
-- Handoffs, last updated first.
select * from handoff order by updated_at desc, id limit :limit;

-- name: handoff_by_session
-- The handoffs of a session, last updated first.
select * from handoff where session = :session order by updated_at desc, id limit :limit;

-- name: handoff_find
-- Handoffs by id prefix.
select * from handoff where substr(id, 1, length(:prefix)) = :prefix order by id limit 3;

-- name: head_touch
-- Make sure that a chain has a head to lock.
insert into head (chain, n, hash, at) values (:chain, 0, '', '') on conflict (chain) do nothing;

-- name: head_lock
-- The newest link of a chain, held until this transaction ends. (SQLite's writers are alone anyway.)
select chain, n, hash, at from head where chain = :chain;

-- name: head_put
-- Move the head to a new link.
update head set n = :n, hash = :hash, at = :at where chain = :chain;

-- name: head_all
-- Every chain's head.
select chain, n, hash, at from head order by chain;

-- name: operation_add
-- Add a link to a chain.
insert into operation (id, chain, n, kind, subject, actor, at, before, after, undoes, key, request, prev, hash)
values (:id, :chain, :n, :kind, :subject, :actor, :at, :before, :after, :undoes, :key, :request, :prev, :hash);

-- name: operation_by_key
-- The earlier operation of this actor with this idempotency key.
select * from operation where actor = :actor and key = :key;

-- name: operation_find
-- Operations by id prefix.
select * from operation where substr(id, 1, length(:prefix)) = :prefix order by id limit 3;

-- name: operation_list
-- The newest operations of all chains.
select * from operation order by at desc, chain, n desc limit :limit;

-- name: operation_chain
-- A chain in order.
select * from operation where chain = :chain order by n;

-- name: operation_last_on
-- The newest operation on a subject.
select * from operation where subject = :subject order by n desc limit 1;

-- name: operation_chains
-- Every chain that has a link.
select distinct chain from operation order by chain;

-- name: blob_add
-- Record a blob that is already stored.
insert into blob (hash, size, stored, added_at) values (:hash, :size, :stored, :added_at)
on conflict (hash) do nothing;

-- name: blob_get
-- One blob.
select hash, size, stored, added_at from blob where hash = :hash;

-- name: blob_all
-- All blobs.
select hash, size, stored, added_at from blob order by hash;

-- name: lease_offer
-- Offer a lease; claimable and claimed ones are unchanged, settled ones are due again.
insert into lease (subject, kind, due_at, token, holder, expires_at, settled_at)
values (
  :subject, :kind, :due_at,
  coalesce((select cast(value as bigint) from meta where key = 'lease_floor'), 0),
  null, null, null
)
on conflict (subject) do update set due_at = excluded.due_at, settled_at = null
where lease.settled_at is not null;

-- name: lease_claim
-- Claim the longest due lease of a kind that is free or expired.
update lease set holder = :holder, token = token + 1, expires_at = :expires_at
where subject = (
  select subject from lease
  where kind = :kind and due_at <= :now and settled_at is null and (holder is null or expires_at <= :now)
  order by due_at, subject limit 1
)
returning subject, kind, due_at, token, holder, expires_at;

-- name: lease_take
-- Acquire a lease by its subject; no row if another holds it. Its holder keeps its token; a new holder gets a new token
-- and due_at = now, the time since when it is held.
insert into lease (subject, kind, due_at, token, holder, expires_at, settled_at)
values (
  :subject, :kind, :now,
  coalesce((select cast(value as bigint) from meta where key = 'lease_floor'), 0) + 1,
  :holder, :expires_at, null
)
on conflict (subject) do update set
  kind = excluded.kind,
  due_at = case when lease.holder = excluded.holder and lease.expires_at > excluded.due_at
    then lease.due_at else excluded.due_at end,
  token = case when lease.holder = excluded.holder and lease.expires_at > excluded.due_at
    then lease.token else lease.token + 1 end,
  holder = excluded.holder, expires_at = excluded.expires_at, settled_at = null
where lease.holder is null or lease.holder = excluded.holder or lease.expires_at <= excluded.due_at
returning subject, kind, due_at, token, holder, expires_at;

-- name: lease_held
-- The current holder of a lease, if any.
select subject, kind, due_at, token, holder, expires_at from lease
where subject = :subject and holder is not null and expires_at > :now;

-- name: lease_renew
-- Extend a lease; no row if it was lost.
update lease set expires_at = :expires_at
where subject = :subject and token = :token and holder = :holder and expires_at > :now;

-- name: lease_release
-- Release a lease; no row if it was lost.
update lease set holder = null, expires_at = null
where subject = :subject and token = :token and holder = :holder;

-- name: lease_settle
-- Settle a lease: the work is done; no row if it was lost.
update lease set holder = null, expires_at = null, settled_at = :now
where subject = :subject and token = :token and holder = :holder;

-- name: lease_highest
-- The highest token given so far: after a restore, only higher ones may be given.
select max(token) as token from (
  select token from lease
  union all select cast(value as bigint) as token from meta where key = 'lease_floor'
  union all select 0 as token
) as given;

-- name: lease_restored
-- After a restore, free all leases and invalidate all earlier tokens.
update lease set holder = null, expires_at = null,
  token = case when token < :highest then :highest else token end;
