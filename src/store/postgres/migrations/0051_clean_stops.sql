-- Up Migration

-- Whether the last process that reserves STANs has stopped in order (src/store/switches/database-epoch.ts).
alter table database_epoch add column is_at_rest boolean not null default false;

-- Down Migration

alter table database_epoch drop column is_at_rest;
