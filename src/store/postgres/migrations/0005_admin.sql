-- Up Migration

-- A removed row is kept: transactions keep the id of their route, and a reversal finds its switch through it. Ids are
-- never reused.
alter table processors
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now(),
  add column removed_at timestamptz;

alter table routes
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now(),
  add column removed_at timestamptz;

-- Changes of an acquirer's configuration with their authors: one row per change, in the change's own commit.
-- Append-only.
create table admin_events (
  acquirer_id integer not null references acquirers,
  id bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  -- `key 0123456789abcdef` or `cli user@host`.
  actor text not null check (length(actor) <= 255),
  action text not null check (action in ('add', 'change', 'remove')),
  kind text not null check (kind in ('processor', 'route')),
  subject_id integer not null,
  before jsonb,
  after jsonb,
  primary key (acquirer_id, id)
);

create trigger admin_events_append_only before update or delete or truncate on admin_events
  for each statement execute function refuse_change();

-- Down Migration

drop table admin_events;
alter table routes drop column created_at, drop column updated_at, drop column removed_at;
alter table processors drop column created_at, drop column updated_at, drop column removed_at;
