-- Up Migration

-- The request with an Idempotency-Key that created the link, as SHA-256: a repeat after a crash recognizes its own link.
alter table links add column request_hash bytea check (octet_length(request_hash) = 32);

-- Down Migration

alter table links drop column request_hash;
