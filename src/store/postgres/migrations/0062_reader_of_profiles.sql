-- Up Migration

-- The format of the card data that readers with a profile send, and its settings; null for the default format.
alter table terminal_profiles add column reader jsonb check (octet_length(reader::text) <= 16384);

-- Down Migration

alter table terminal_profiles drop column reader;
