-- Up Migration

-- Terminal profiles: what an acquirer's readers accept, in the canonical form of schemas/terminal-profile.ts. A token
-- selects one by name; otherwise the terminal's profile applies. A profile that a terminal uses cannot be removed.
create table terminal_profiles (
  acquirer_id integer not null references acquirers,
  name text not null check (length(name) between 1 and 255),
  currency char(3),
  overrides jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (acquirer_id, name)
);

alter table terminals
  add column profile_name text,
  add constraint terminals_profile_fkey foreign key (acquirer_id, profile_name) references terminal_profiles;

-- Phones to which payments can be pushed, each of one merchant. The push token is a secret of the device: sealed, and
-- null after the push service reports that the app was removed.
create table devices (
  acquirer_id integer not null,
  id uuid not null default gen_random_uuid(),
  merchant_id text not null,
  device_installation_id text not null check (length(device_installation_id) between 1 and 128),
  friendly_name text not null check (length(friendly_name) between 1 and 32),
  sealed_push_token bytea,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, id),
  unique (acquirer_id, merchant_id, device_installation_id),
  foreign key (acquirer_id, merchant_id) references merchants
);

create index devices_by_age on devices (acquirer_id, created_at desc, id desc);

-- Down Migration

drop table devices;
alter table terminals drop constraint terminals_profile_fkey, drop column profile_name;
drop table terminal_profiles;
