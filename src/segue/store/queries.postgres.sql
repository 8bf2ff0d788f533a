-- Where PostgreSQL's writers run side by side, these take the locks that SQLite's single writer does not need.

-- name: head_lock
-- The newest link of a chain; a second writer waits here until the first has committed.
select chain, n, hash, at from head where chain = :chain for update;

-- name: lease_claim
-- Skip what others are just claiming: without SKIP LOCKED two claimers wait for the same row and both get it.
update lease set holder = :holder, token = token + 1, expires_at = :expires_at
where subject = (
  select subject from lease
  where kind = :kind and due_at <= :now and settled_at is null and (holder is null or expires_at <= :now)
  order by due_at, subject limit 1
  for update skip locked
)
returning subject, kind, due_at, token, holder, expires_at;

-- name: blob_data_put
-- The content itself.
insert into blob_data (hash, data) values (:hash, :data)
on conflict (hash) do update set data = excluded.data;

-- name: blob_data_get
-- The content itself.
select data from blob_data where hash = :hash;
