-- The statements of the index.

-- name: hidden
-- Sources that this run ignores.
create temp table hidden (id integer primary key);

-- name: unhide
-- Unhide all sources.
delete from hidden;

-- name: hide
-- Hide one source.
insert or ignore into hidden (id) values (?);

-- name: sources
-- Every source, and how it was when each pass last read it.
select id, agent, path, part, size, stamp, spent_size, spent_stamp, told_size, told_stamp from source;

-- name: sources_read
-- Those that were read in full, with the transcript.
select id, agent, path, part, size, stamp, spent_size, spent_stamp, told_size, told_stamp, transcript
from source where transcript is not null and id not in (select id from hidden);

-- name: source_marks
-- Where each pass ended in one of them.
select mark, spent_mark, told_mark from source where id = :id;

-- name: source_spent_mark
-- Where the quick pass ended in one of them.
select json_extract(spent_mark, '$.offset') as offset, json_extract(spent_mark, '$.before') as before
from source where id = :id;

-- name: source_transcript
-- What the full pass found in one of them.
select transcript from source where id = :id;

-- name: projects
-- The folders that transcripts began in.
select distinct project from source where project <> '';

-- name: source_add
-- A source that was not known.
insert into source (agent, path, part) values (?, ?, ?) on conflict (path, part) do nothing;

-- name: source_last
-- The newest one.
select id from source order by id desc limit 1;

-- name: sources_after
-- Those that are newer than one.
select id, path, part from source where id > :last;

-- name: source_id
-- A source that is known.
select id from source where path = :path and part = :part;

-- name: source_spent
-- The quick pass came this far.
update source set spent_size = ?, spent_stamp = ?, spent_mark = ? where id = ?;

-- name: source_read
-- The full pass came this far.
update source set size = :size, stamp = :stamp, mark = :mark, transcript = :transcript, project = :project
where id = :id;

-- name: source_told
-- The full text is indexed up to here.
update source set told_size = :size, told_stamp = :stamp, told_mark = :mark where id = :id;

-- name: source_drop
-- A source that is gone.
delete from source where id = :source;

-- name: keys
-- Every answer that is counted somewhere.
select source as id, keys from ledger;

-- name: counted
-- The hashes of the answers that are counted somewhere, in pieces up to one.
select id, keys from counted where id <= :last;

-- name: counted_last
-- The piece that is added to.
select id, keys from counted order by id desc limit 1;

-- name: counted_add
-- A piece.
insert into counted (keys) values (:keys);

-- name: counted_drop
-- Delete a piece that was merged into another.
delete from counted where id = :id;

-- name: counted_put
-- Replace a piece.
update counted set keys = :keys where id = :id;

-- name: spends_of
-- The ledger of a source.
select keys, spends from ledger where source = :id;

-- name: spends_of_all
-- The ledgers of all sources.
select source as id, keys, spends from ledger order by source;

-- name: spends_put
-- Replace the ledger of a source.
insert or replace into ledger (source, keys, spends) values (?, ?, ?);

-- name: spends_drop
-- Delete the ledger of a source.
delete from ledger where source = :id;

-- name: buckets_drop
-- Forget a source's sums.
delete from bucket where source = ?;

-- name: bucket_add
-- A sum.
insert into bucket
  (source, quarter, model, class, answers, input, output, cache_read, cache_write, cache_write_long, cost)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: stale_add
-- Mark the totals of a quarter as stale.
insert or ignore into stale (quarter) values (?);

-- name: stale_add_of
-- Mark the quarters of a source as stale.
insert or ignore into stale (quarter) select quarter from bucket where source = ?;

-- name: stale
-- Are there stale totals?
select quarter from stale limit 1;

-- name: totals_drop
-- Delete stale totals.
delete from total where quarter in (select quarter from stale);

-- name: totals_add
-- Recompute stale totals.
insert into total
select quarter, model, class, sum(answers), sum(input), sum(output), sum(cache_read), sum(cache_write),
  sum(cache_write_long), sum(cost)
from bucket where quarter in (select quarter from stale) group by quarter, model, class;

-- name: stale_drop
-- No totals are stale.
delete from stale;

-- name: hides
-- Does this run ignore any source?
select id from hidden limit 1;

-- name: sums_by_day
-- Tokens per day of this machine's time zone.
select date(quarter * 900, 'unixepoch', 'localtime') as period, model, class, sum(answers) as answers,
  sum(input) as input, sum(output) as output, sum(cache_read) as cache_read, sum(cache_write) as cache_write,
  sum(cache_write_long) as cache_write_long, sum(cost) as cost
from total where quarter >= :since and quarter < :until
group by 1, 2, 3 order by 1, 2;

-- name: sums_by_day_of_some
-- The same if some sources are hidden: grouped in index order first, then by day.
select date(quarter * 900, 'unixepoch', 'localtime') as period, model, class, sum(answers) as answers,
  sum(input) as input, sum(output) as output, sum(cache_read) as cache_read, sum(cache_write) as cache_write,
  sum(cache_write_long) as cache_write_long, sum(cost) as cost
from (
  select quarter, model, class, sum(answers) as answers, sum(input) as input, sum(output) as output,
    sum(cache_read) as cache_read, sum(cache_write) as cache_write, sum(cache_write_long) as cache_write_long,
    sum(cost) as cost
  from bucket where quarter >= :since and quarter < :until and source not in (select id from hidden)
  group by quarter, model, class
)
group by 1, 2, 3 order by 1, 2;

-- name: sums_by_quarter
-- Tokens per quarter of an hour.
select quarter as period, model, class, answers, input, output, cache_read, cache_write, cache_write_long, cost
from total where quarter >= :since and quarter < :until order by 1, 2;

-- name: sums_by_quarter_of_some
-- The same if some sources are hidden.
select b.quarter as period, b.model as model, b.class as class,
  sum(b.answers) as answers, sum(b.input) as input, sum(b.output) as output,
  sum(b.cache_read) as cache_read, sum(b.cache_write) as cache_write,
  sum(b.cache_write_long) as cache_write_long, sum(b.cost) as cost
from bucket b
where b.quarter >= :since and b.quarter < :until and b.source not in (select id from hidden)
group by 1, 2, 3 order by 1, 2;

-- name: sums_by_source
-- Tokens per source.
select b.source as period, b.model as model, b.class as class,
  sum(b.answers) as answers, sum(b.input) as input, sum(b.output) as output,
  sum(b.cache_read) as cache_read, sum(b.cache_write) as cache_write,
  sum(b.cache_write_long) as cache_write_long, sum(b.cost) as cost
from bucket b
where b.quarter >= :since and b.quarter < :until and b.source not in (select id from hidden)
group by 1, 2, 3 order by 1, 2;

-- name: reports_drop
-- Delete the limits that a source reported.
delete from report where source = :source;

-- name: report_add
-- Add a reported limit.
insert into report (source, agent, at, told) values (?, ?, ?, ?);

-- name: reports
-- Limits reported since a moment, oldest first.
select agent, told from report where at >= :since and source not in (select id from hidden) order by at;

-- name: prices
-- Cached prices of this version of the price data.
select model, found from price where data = :data and found is not null;

-- name: price_put
-- Cache a price.
insert or replace into price (model, data, found) values (:model, :data, :found);

-- name: words_drop
-- Delete a source's words from the full text.
delete from words where rowid in (select id from passage where source = :source);

-- name: passages_drop
-- Delete a source's passages.
delete from passage where source = :source;

-- name: passage_add
-- Add a passage of a source.
insert into passage (source) values (:source) returning id;

-- name: words_add
-- Add the words of a passage.
insert into words (rowid, text) values (:id, :text);

-- name: words_search
-- Sources in which all words occur in one passage.
select distinct p.source as source from words w join passage p on p.id = w.rowid where words match :words;
