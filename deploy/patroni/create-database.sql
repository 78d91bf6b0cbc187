-- psql -v password=... -f create-database.sql, as postgres, on the primary.
create role tapwire login password :'password';
grant pg_monitor to tapwire; -- for tapwire doctor
create database tapwire owner tapwire;
