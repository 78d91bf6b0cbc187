-- Up Migration

-- The processors, as `<acquirer> <processor>`, to which each process is signed on. A process without a connection leaves
-- taps to one with it. Lost after a crash of the database, because every process reports again within a second.
create unlogged table process_lines (
  process_id uuid primary key,
  lines text[] not null,
  reported_at timestamptz not null
);

-- Down Migration

drop table process_lines;
