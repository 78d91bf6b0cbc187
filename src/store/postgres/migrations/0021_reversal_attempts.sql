-- Up Migration

-- Each attempt of a reversal that may have reached a switch, written in the commit before its bytes. A switch may
-- respond to any attempt at any time, so a response is looked up here by the values that the switch knows of the
-- attempt. DE7 has whole seconds and differs between the attempts of one request: sent_at identifies the attempt.
-- Reversals are rare, so ordinary taps have no cost.
create table reversal_attempts (
  acquirer_id integer not null,
  transaction_id uuid not null,
  -- Which request of the transaction is reversed.
  attempt smallint not null,
  sent_at timestamptz not null,
  -- Counts from 1 for each void and each uncertain request.
  number smallint not null,
  processor_id integer not null,
  tid text not null,
  stan text not null,
  rrn text,
  deadline_at timestamptz not null,
  -- The attempt may have reached the switch before its original.
  could_overtake boolean not null,
  -- The attempt requests a doubtful acknowledgement once more.
  confirms boolean not null,
  -- False after an approval of the original has arrived later than this attempt: the acknowledgement then proves
  -- nothing.
  counts boolean not null default true,
  -- The job of the next attempt.
  next_job uuid not null,
  answer text check (answer in ('acknowledged', 'unableToLocate', 'duplicate', 'refused', 'undecided')),
  answered_at timestamptz,
  primary key (acquirer_id, transaction_id, attempt, sent_at)
);

create index reversal_attempts_by_switch on reversal_attempts (acquirer_id, tid, stan);
create index reversal_attempts_by_age on reversal_attempts using brin (sent_at) with (autosummarize = on);

-- A request to which the response required a PIN, as it was when the attempt with the PIN replaced it in its
-- transaction. The switch may still approve it: then it is reversed with the data stored here.
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
  -- When the reversal was requested later than its request: on a void, or on a late approval. Otherwise the time of the
  -- request counts.
  add column reversal_armed_at timestamptz,
  -- DE38 of a response that approved but could not be used; for the reversal only.
  add column unusable_authorization_code text,
  -- DE15 of the accepted response, as a date.
  add column settlement_date text;

-- 3: the switch has both refused and acknowledged the void.
alter table transactions
  drop constraint transactions_void_state_check,
  add constraint transactions_void_state_check check (void_state in (1, 2, 3));

-- Requests whose late response matters: uncertain ones, and those that were declined or required a PIN, because an
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
