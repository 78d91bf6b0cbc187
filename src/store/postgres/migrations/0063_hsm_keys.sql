-- Up Migration

-- Facts about the keys of the HSM, without key material. Keys of the installation have acquirer 0, as in admin_events.
create table hsm_keys (
  key_id text primary key check (length(key_id) between 1 and 64),
  acquirer_id integer not null check (acquirer_id >= 0),
  usage text not null check (usage in ('keyEncryption', 'keyBlockProtection', 'pin', 'mac', 'dukptBase')),
  kcv text not null check (kcv ~ '^[0-9A-F]{6}$'),
  created_at timestamptz not null default now(),
  due_on date not null,
  -- Day of the last use in UTC, written by gateways at most once a day.
  last_used_on date,
  -- A rotation names the successor, and until when the key remains usable beside it.
  successor text check (successor <> key_id),
  overlap_ends_at timestamptz,
  retired_at timestamptz,
  check ((successor is null) = (overlap_ends_at is null))
);

-- Down Migration

drop table hsm_keys;
