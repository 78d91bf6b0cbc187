-- Up Migration

-- Properties of tenants for administrators: when they were created and last changed, and whether they are blocked. A
-- blocked tenant and its subordinate tenants take no taps.
alter table acquirers
  add column is_blocked boolean not null default false,
  add column updated_at timestamptz not null default now();

alter table integrators
  add column is_blocked boolean not null default false,
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now();

alter table merchants
  add column settings jsonb not null default '{}',
  add column updated_at timestamptz not null default now();

alter table terminals
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now();

alter table blocked_devices rename column blocked_at to created_at;
alter table blocked_devices add column updated_at timestamptz not null default now();

-- The same for credentials.
alter table users
  alter column id set default gen_random_uuid(),
  add column updated_at timestamptz not null default now();
alter table api_keys add column updated_at timestamptz not null default now();
-- An id that the gateway assigns: a kid may be missing, and it is not used in URLs.
alter table issuer_keys
  add column id uuid primary key default gen_random_uuid(),
  add column updated_at timestamptz not null default now();

create index api_keys_by_acquirer on api_keys (acquirer_id, id);

-- Admin events cover every kind of setting, each identified with its own key. Acquirer 0 is the installation itself,
-- for the keys of its operator.
alter table admin_events
  drop constraint admin_events_acquirer_id_fkey,
  drop constraint admin_events_kind_check,
  alter column subject_id type text,
  add check (length(subject_id) between 1 and 512),
  -- Named in the code: src/store/settings/admin-commit.ts.
  add check (length(kind) between 1 and 32);

-- Down Migration

alter table admin_events disable trigger admin_events_append_only;
delete from admin_events where kind not in ('processor', 'route');
alter table admin_events enable trigger admin_events_append_only;
alter table admin_events
  drop constraint admin_events_kind_check,
  drop constraint admin_events_subject_id_check,
  alter column subject_id type integer using subject_id::integer,
  add check (kind in ('processor', 'route')),
  add foreign key (acquirer_id) references acquirers;
drop index api_keys_by_acquirer;
alter table issuer_keys drop column id, drop column updated_at;
alter table api_keys drop column updated_at;
alter table users alter column id drop default, drop column updated_at;
alter table blocked_devices drop column updated_at;
alter table blocked_devices rename column created_at to blocked_at;
alter table terminals drop column created_at, drop column updated_at;
alter table merchants drop column settings, drop column updated_at;
alter table integrators drop column is_blocked, drop column created_at, drop column updated_at;
alter table acquirers drop column is_blocked, drop column updated_at;
