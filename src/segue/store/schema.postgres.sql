-- What PostgreSQL holds beside schema.sql: the content of blobs, which SQLite's store keeps as files.

create table if not exists blob_data (
  hash text primary key not null,
  data bytea not null
);
