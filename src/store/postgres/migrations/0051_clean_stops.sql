-- Up Migration

-- What shows that a database lacks reservations of STANs (src/store/switches/database-epoch.ts).
--
-- running: the processes that reserve STANs, with the time of their last note in seconds since 1970.
-- notes: how often processes have noted this database.
-- server_started_at: when the server began to run that was noted last.
alter table database_epoch
  add column running jsonb not null default '{}',
  add column notes bigint not null default 0,
  add column server_started_at timestamptz;

-- The last business date without numbers, because those that the switch has received are unknown.
alter table stan_blocks add column held_until date;

-- Down Migration

alter table stan_blocks drop column held_until;
alter table database_epoch drop column running, drop column notes, drop column server_started_at;
