-- Up Migration

-- The content of a webhook besides the outcome: the processor's own values, and the link or intent that requested the
-- tap.
alter table transactions add column provider_fields jsonb, add column consumer_id uuid;

-- Where webhooks are sent. For taps of the SDK, the endpoint that the integrator registered (4.9); for taps of a link
-- or an intent, the one that the operator has set. At most two secrets are valid: the current one, and until
-- previous_until the previous one.
create table webhook_endpoints (
  acquirer_id integer not null references acquirers,
  id uuid not null,
  integrator_id integer not null,
  serves text not null check (serves in ('taps', 'links')),
  url text not null check (length(url) <= 2048),
  sealed_secret bytea not null,
  secret_shown_at timestamptz,
  previous_sealed_secret bytea,
  previous_until timestamptz,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (acquirer_id, id),
  unique (acquirer_id, integrator_id, serves),
  foreign key (acquirer_id, integrator_id) references integrators
);

-- One row per event, written when its job runs for the first time. The body is signed and sent byte for byte on each
-- attempt. round and delivery name the one job that may continue: a replay begins a new round, an attempt moves to the
-- next delivery of the schedule, and any other job for the event stops. No index on what changes: HOT updates.
create table webhook_events (
  acquirer_id integer not null,
  id uuid not null,
  integrator_id integer not null,
  endpoint_id uuid not null,
  transaction_id uuid not null,
  type text not null check (length(type) <= 64),
  body text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'stopped')),
  round smallint not null default 1,
  delivery smallint not null default 1,
  attempts smallint not null default 0,
  next_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, id)
) with (fillfactor = 80);

create index webhook_events_by_integrator on webhook_events (acquirer_id, integrator_id, created_at desc, id desc);
create index webhook_events_by_transaction on webhook_events (acquirer_id, transaction_id);

-- status is null, and error gives the reason, if there was no response.
create table webhook_attempts (
  acquirer_id integer not null,
  event_id uuid not null,
  number smallint not null,
  at timestamptz not null,
  url text not null,
  status smallint,
  error text,
  duration_ms integer not null,
  answer text,
  primary key (acquirer_id, event_id, number),
  foreign key (acquirer_id, event_id) references webhook_events on delete cascade
);

-- Down Migration

drop table webhook_attempts, webhook_events, webhook_endpoints;
alter table transactions drop column provider_fields, drop column consumer_id;
