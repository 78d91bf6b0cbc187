-- Up Migration

-- The merchant's time zone when the tap was stored. It decides when the business day of a sale ends, if the switch announces
-- no business dates. Null in rows of the previous version: the merchant's present zone decides there.
alter table transactions add column time_zone text;

-- Down Migration

alter table transactions drop column time_zone;
