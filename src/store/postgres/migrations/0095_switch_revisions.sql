-- Up Migration

-- A revision is one switch behind a processor, from a change of what identifies it to the next. `same_switch_since` is the
-- first revision that an administrator stated to be the same switch as the present one. A transaction keeps the revision that
-- it was sent to; null means 0, so nothing is written for a processor that never changed.
--
-- `switch_identity` is what identified the switch when the configuration was last read by its type: a new version of the type
-- may read the same configuration as another switch. Null until a gateway of this version has opened the switch.
alter table processors
  add column switch_revision integer not null default 0,
  add column same_switch_since integer not null default 0,
  add column switch_identity jsonb;
alter table transactions add column switch_revision integer;
alter table superseded_attempts add column switch_revision integer;

-- Down Migration

alter table superseded_attempts drop column switch_revision;
alter table transactions drop column switch_revision;
alter table processors drop column switch_identity, drop column same_switch_since, drop column switch_revision;
