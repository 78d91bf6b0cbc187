-- Up Migration

-- Messages are kept as the bytes that went over the line, with everything secret overwritten, instead of described: a fifth of
-- the room, and the console decodes them when somebody looks. Where a message could not be masked, its length is kept alone.
-- `request` and `response` are those of the version before, which may run for a while yet: it finds there that nothing is to
-- be shown, and what it writes itself goes with its age.
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
