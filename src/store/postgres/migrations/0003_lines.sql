-- Up Migration

-- Only uncertain transactions are searched for by the values that a switch knows (DE41, DE11), so only they are
-- indexed. A tap that was answered in time has no entry in either index, and its updates stay HOT.
create index transactions_uncertain on transactions (acquirer_id, tid, stan) where reversal_state <> 0;

-- STANs that a reversal still requires, and that no new tap may use.
create index transactions_owed on transactions (acquirer_id, stan) where reversal_state in (1, 2, 4, 5);

-- Responses of a switch after the outcome was decided. A repeated response is stored once.
create table late_responses (
  acquirer_id integer not null,
  transaction_id uuid not null,
  attempt smallint not null,
  kind text not null check (kind in ('approved', 'declined', 'unknown')),
  response_code text not null,
  authorization_code text not null,
  -- How many attempts of the reversal had been sent by then.
  reversal_attempt smallint not null,
  came_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, transaction_id, attempt, kind, response_code, authorization_code)
);

-- The business dates that a switch has announced, with a cut-over or with the settlement date of a response. They only
-- advance.
create table business_dates (
  acquirer_id integer not null,
  processor_id integer not null,
  business_date date not null,
  since timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, processor_id, business_date)
);

-- A scope has 999,999 numbers per business day: day_first is the first of today's.
alter table stan_blocks
  add column business_date date not null default '-infinity',
  add column day_first bigint not null default 0,
  add column reserved_at timestamptz not null default clock_timestamp();

-- The identity of this database. A restored backup, or a standby that was promoted, has another identity and may lack
-- the latest reservations: every scope then jumps ahead.
create table database_epoch (
  is_only boolean primary key default true check (is_only),
  epoch text not null
);

-- Down Migration

drop table database_epoch, business_dates, late_responses;
alter table stan_blocks drop column business_date, drop column day_first, drop column reserved_at;
drop index transactions_owed, transactions_uncertain;
