-- Up Migration

-- Each attempt of a reversal that may have reached a switch, written in the commit before its bytes. A switch may answer any of
-- them at any time, so an answer is looked up here by what the switch knows of the attempt. DE7 has whole seconds and differs
-- between the attempts of one request: sent_at names the attempt. A reversal is rare, so this costs ordinary taps nothing.
create table reversal_attempts (
  acquirer_id integer not null,
  transaction_id uuid not null,
  -- Of the transaction: which request is reversed.
  attempt smallint not null,
  sent_at timestamptz not null,
  -- Counts from 1 for each void and each uncertain request.
  number smallint not null,
  processor_id integer not null,
  tid text not null,
  stan text not null,
  rrn text,
  deadline_at timestamptz not null,
  -- It may have reached the switch before its original.
  could_overtake boolean not null,
  -- It asks for an acknowledgement that left a doubt once more.
  confirms boolean not null,
  -- False from the moment at which an approval of the original came after it: its acknowledgement proves nothing then.
  counts boolean not null default true,
  -- The job of the next attempt.
  next_job uuid not null,
  answer text check (answer in ('acknowledged', 'unableToLocate', 'duplicate', 'refused', 'undecided')),
  answered_at timestamptz,
  primary key (acquirer_id, transaction_id, attempt, sent_at)
);

create index reversal_attempts_by_switch on reversal_attempts (acquirer_id, tid, stan);
create index reversal_attempts_by_age on reversal_attempts using brin (sent_at) with (autosummarize = on);

-- A request that asked for a PIN, as it was when the attempt with the PIN replaced it in its transaction. Its switch may still
-- approve it: then it is reversed by what is kept here.
create table superseded_attempts (
  acquirer_id integer not null,
  transaction_id uuid not null,
  attempt smallint not null,
  route_id integer not null,
  tid text not null,
  mid text,
  stan text not null,
  rrn text,
  sent_at timestamptz not null,
  deadline_at timestamptz,
  response_code text,
  authorization_code text,
  sealed_card bytea,
  reversal_state smallint not null default 0,
  reversal_attempt smallint not null default 0,
  reversal_armed_at timestamptz,
  superseded_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, transaction_id, attempt)
);

create index superseded_attempts_by_switch on superseded_attempts (acquirer_id, tid, stan);
create index superseded_attempts_owed on superseded_attempts (acquirer_id, stan) where reversal_state in (1, 2, 4, 5);
create index superseded_attempts_by_age on superseded_attempts using brin (superseded_at) with (autosummarize = on);

alter table transactions
  -- When a reversal was asked for after its request: by a void, or by an approval that came late. Else the request's own time counts.
  add column reversal_armed_at timestamptz,
  -- DE38 of a response that approved but could not be used: for the reversal alone.
  add column unusable_authorization_code text,
  -- DE15 of the accepted response, as a date.
  add column settlement_date text;

-- 3: the switch has refused the void and acknowledged it as well.
alter table transactions
  drop constraint transactions_void_state_check,
  add constraint transactions_void_state_check check (void_state in (1, 2, 3));

-- Requests whose late response means something: uncertain ones, and those that were declined or asked for a PIN, because an
-- approval may follow. An approved tap has no entry, and its updates stay HOT.
drop index transactions_uncertain;
create index transactions_answerable on transactions (acquirer_id, tid, stan)
  where reversal_state <> 0 or other_disposition = 1 or pin_state = 1;

-- Down Migration

drop index transactions_answerable;
create index transactions_uncertain on transactions (acquirer_id, tid, stan) where reversal_state <> 0;
update transactions set void_state = 1 where void_state = 3;
alter table transactions
  drop constraint transactions_void_state_check,
  add constraint transactions_void_state_check check (void_state in (1, 2));
alter table transactions
  drop column reversal_armed_at,
  drop column unusable_authorization_code,
  drop column settlement_date;
drop table superseded_attempts, reversal_attempts;
