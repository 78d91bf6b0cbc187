-- Up Migration

-- The PIN step (see transactions/pin-step.ts). pin_expires_at is set and compared by the database's clock alone, and
-- pin_fingerprint tells the PIN request of this attempt when it is repeated. No PIN block is kept, in whatever form.
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
