-- Statement by statement

-- Up Migration

-- The last attempt to push a link to a device, for people at a console. The device may be removed later.
alter table links
  add column if not exists pushed_at timestamptz,
  add column if not exists push_device_id uuid,
  add column if not exists push_outcome text check (length(push_outcome) <= 32);

-- Down Migration

alter table links drop column if exists pushed_at, drop column if exists push_device_id, drop column if exists push_outcome;
