-- A session knows the transcripts that belong to it, and how content the person is with it.

alter table session add column transcripts text not null default '[]';
alter table session add column satisfaction double precision;
