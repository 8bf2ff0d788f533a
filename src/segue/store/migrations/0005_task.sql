-- A session knows what the person said of its task.

alter table session add column task text not null default 'null';
