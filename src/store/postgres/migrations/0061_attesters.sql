-- Up Migration

-- Services that state whether the device and the app of a tap can be trusted. An acquirer that has a required one
-- refuses taps and PINs without such a statement.
create table attesters (
  acquirer_id integer not null references acquirers,
  name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,31}$'),
  issuer text not null check (length(issuer) between 1 and 255),
  public_key text not null check (length(public_key) <= 4096),
  max_age_seconds integer not null check (max_age_seconds between 10 and 86400),
  is_required boolean not null,
  least_app_version text check (least_app_version ~ '^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (acquirer_id, name)
);

-- Down Migration

drop table attesters;
