-- Statements of the local store.

-- name: trust_get
-- The hash under which a file was trusted.
select path, hash, at from trust where path = :path;

-- name: trust_put
-- Trust a file in its present form.
insert into trust (path, hash, at) values (:path, :hash, :at)
on conflict (path) do update set hash = excluded.hash, at = excluded.at;

-- name: trust_drop
-- Revoke the trust in a file.
delete from trust where path = :path;

-- name: trust_list
-- All trusted files.
select path, hash, at from trust order by path;

-- name: current_get
-- The session that was chosen for a project.
select session from current where project = :project;

-- name: current_put
-- Choose a project's session.
insert into current (project, session, at) values (:project, :session, :at)
on conflict (project) do update set session = excluded.session, at = excluded.at;

-- name: consent_get
-- Whether a project's context may go to a vendor.
select at from consent where project = :project and vendor = :vendor;

-- name: consent_put
-- Allow a vendor for a project.
insert into consent (project, vendor, at) values (:project, :vendor, :at)
on conflict (project, vendor) do nothing;

-- name: confirmed_get
-- Did the user confirm an agent's transcripts inside a project?
select at from confirmed where project = :project and agent = :agent;

-- name: confirmed_put
-- Confirm an agent's transcripts inside a project.
insert into confirmed (project, agent, at) values (:project, :agent, :at)
on conflict (project, agent) do nothing;

-- name: confirmed_drop
-- Withdraw the confirmation.
delete from confirmed where project = :project and agent = :agent;
