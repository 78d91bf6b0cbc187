-- Up Migration

-- Second factors of users with a password: one-time codes by time (RFC 6238). Secrets are sealed with the keys of the
-- installation, each to its user.
create table user_totp (
  acquirer_id integer not null,
  user_id uuid not null,
  -- Null until a code has confirmed the first enrolment.
  secret bytea,
  enrolled_at timestamptz,
  -- A code of this step, or an earlier one, was used.
  last_step bigint not null default 0,
  -- SHA-256 of the recovery codes that are left.
  recovery_hashes bytea[] not null default '{}',
  -- An enrolment that waits for its first code.
  pending_secret bytea,
  pending_at timestamptz,
  primary key (acquirer_id, user_id),
  check ((secret is null) = (enrolled_at is null)),
  foreign key (acquirer_id, user_id) references users on delete cascade
);

-- Down Migration

drop table user_totp;
