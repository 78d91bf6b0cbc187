-- Up Migration

-- The user (claim usr) whose token registered the device, and who alone may change it, besides administrators. Null until a
-- user has registered it: it was registered with a key, or by an earlier version.
alter table devices add column registered_by text check (length(registered_by) <= 255);

-- Down Migration

alter table devices drop column registered_by;
