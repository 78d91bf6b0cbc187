-- psql -v password=... -f create-database.sql, as postgres, on the primary.
create role tapwire login password :'password';
grant pg_monitor to tapwire; -- for tapwire doctor
create database tapwire owner tapwire;
-- Patroni promotes no other standby (synchronous_mode), so a failover loses no reservation of STANs, and skips none.
alter database tapwire set tapwire.promotes_only_synchronous = on;
