-- A handoff knows where it came from, how it was delivered and what came of it.

alter table handoff add column transcript text not null default '';
alter table handoff add column delivery text not null default 'null';
alter table handoff add column event text not null default 'null';
alter table handoff add column returns text not null default '';
