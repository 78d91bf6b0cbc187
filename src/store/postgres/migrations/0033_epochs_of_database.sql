-- Up Migration

-- What is known about the database in which STANs were reserved last (src/store/switches/database-epoch.ts).
alter table database_epoch
  -- Whether each reservation waits for a synchronous standby.
  add column is_synchronous boolean not null default false,
  -- When a process that reserves STANs was last connected. After a failover: the last time that the standby received.
  add column seen_at timestamptz not null default clock_timestamp(),
  -- At the last change of the epoch: for how long reservations may have been lost, and whether STANs were skipped for it.
  add column gap_seconds double precision not null default 0,
  add column has_skipped boolean not null default true,
  -- The counter at which a new scope starts: its first reservations may have been lost.
  add column first_value bigint not null default 0;

-- Down Migration

alter table database_epoch
  drop column is_synchronous, drop column seen_at, drop column gap_seconds, drop column has_skipped, drop column first_value;
