-- Up Migration

-- Messages are stored as the transmitted bytes, with all secrets overwritten, instead of as a description. This takes a
-- fifth of the space, and the console decodes them on display. If a message could not be masked, only its length is
-- stored. `request` and `response` belong to the previous version, which may still run for a while: it finds nothing to
-- show there, and its own rows are purged with age.
alter table attempt_messages
  add column masked_request bytea,
  add column masked_response bytea,
  add column request_bytes integer,
  add column response_bytes integer,
  alter column request set default '[]';

-- Down Migration

alter table attempt_messages
  drop column masked_request,
  drop column masked_response,
  drop column request_bytes,
  drop column response_bytes,
  alter column request drop default;
