-- Up Migration

-- The messages of each attempt at a switch, for display to people: masked before they leave the process that received
-- them. Nothing is decided from them, so they are written separately from the commits of taps, and a few may be lost.
create table attempt_messages (
  acquirer_id integer not null,
  transaction_id uuid not null,
  id bigint generated always as identity,
  attempt smallint not null,
  kind text not null check (kind in ('authorization', 'reversal', 'completion')),
  -- The number of the attempt, for a reversal or completion.
  number smallint not null,
  processor_id integer not null,
  connection text not null,
  sent_at timestamptz not null,
  took_ms integer not null,
  -- `answered`, `garbled`, or the reason why there is no response.
  outcome text not null check (length(outcome) <= 64),
  -- JSON: one row for each value of the message.
  request text not null,
  response text,
  primary key (acquirer_id, transaction_id, id)
);
create index attempt_messages_by_age on attempt_messages using brin (sent_at) with (autosummarize = on);

-- Sessions of the console. Only a hash of the cookie is stored.
create table console_sessions (
  secret_hash bytea primary key,
  acquirer_id integer not null,
  user_id uuid not null,
  begun_at timestamptz not null default clock_timestamp(),
  acted_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
create index console_sessions_by_age on console_sessions (begun_at);

-- What each process counts, once a second, for consoles at other processes; and the requests of operators to a process.
-- Neither survives a crash of the database, nor must it.
create unlogged table process_figures (
  process_id uuid primary key,
  figures jsonb not null,
  at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create unlogged table process_commands (
  process_id uuid not null,
  id uuid primary key,
  command jsonb not null,
  asked_at timestamptz not null default clock_timestamp()
);

-- Actions of an operator are admin events, too.
alter table admin_events
  drop constraint admin_events_action_check,
  add constraint admin_events_action_check check (action in ('add', 'change', 'remove', 'act'));

-- Down Migration

alter table admin_events disable trigger admin_events_append_only;
delete from admin_events where action = 'act';
alter table admin_events enable trigger admin_events_append_only;
alter table admin_events
  drop constraint admin_events_action_check,
  add constraint admin_events_action_check check (action in ('add', 'change', 'remove'));
drop table process_commands, process_figures, console_sessions, attempt_messages;
