-- Up Migration

-- The cluster_name of the database in which STANs were reserved last (src/store/switches/database-epoch.ts).
alter table database_epoch add column cluster text not null default '';

-- Down Migration

alter table database_epoch drop column cluster;
