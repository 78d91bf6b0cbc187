-- Up Migration

-- The PIN step (see transactions/decisions/pin-step.ts). pin_expires_at is set and compared with the database's clock
-- alone. pin_fingerprint recognizes a repeated PIN request of this attempt. No PIN block is stored in any form.
alter table transactions
  add column pin_state smallint not null default 0 check (pin_state between 0 and 5),
  add column pin_tries smallint not null default 0,
  add column pin_job uuid,
  add column pin_expires_at timestamptz,
  add column pin_fingerprint text;

-- Down Migration

alter table transactions
  drop column pin_state,
  drop column pin_tries,
  drop column pin_job,
  drop column pin_expires_at,
  drop column pin_fingerprint;
