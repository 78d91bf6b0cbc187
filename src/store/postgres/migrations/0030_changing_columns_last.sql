-- Up Migration

-- Postgres logs of an update only the bytes between the first and the last change, if both versions of the row are on
-- one page. `status` was the seventh of 65 columns and `updated_at` the 49th, so that the two updates of each tap
-- logged nearly the whole row. Here, columns that do not change after the insert come first, and those that every tap
-- changes come last: first what the response of the switch sets, then `status` and `updated_at`, which the record of
-- the phone's response changes alone.
--
-- The table is written again, and writes wait meanwhile (see ops/README.md).

-- In a schema of its own, the old table keeps the names of its indexes and constraints out of the way.
create schema rewritten;
alter table transactions set schema rewritten;

create table transactions (
  acquirer_id integer not null,
  integrator_id integer not null,
  id uuid not null,
  created_at timestamptz not null,
  answer_by timestamptz not null,
  attempt smallint not null,
  type smallint not null check (type between 1 and 5),
  merchant_id text not null,
  merchant_reference text not null check (length(merchant_reference) <= 255),
  device_installation_id text not null,
  fingerprint text,
  original_id uuid,
  amount_minor bigint,
  currency char(3),
  user_claim text,
  user_id uuid,
  reader_id text,
  reader_transaction_id text,
  latitude text,
  longitude text,
  scheme text,
  masked_pan text,
  pan_hash text,
  sealed_card bytea,
  chip_tags bytea,
  x_tid text,
  consumer_id uuid,
  correlation_id uuid,
  pin_fingerprint text,
  earlier_attempts jsonb,
  route_id integer,
  tid text,
  mid text,
  stan text,
  rrn text,
  sent_at timestamptz,
  deadline_at timestamptz,
  deadline_seconds double precision,
  overdue_job uuid,
  completing_until timestamptz,
  reversal_attempt smallint not null default 0,
  reversal_armed_at timestamptz,
  refunded_minor bigint not null default 0 check (refunded_minor >= 0),
  void_state smallint check (void_state in (1, 2, 3)),
  handover bytea,
  disposition smallint check (disposition between 0 and 5),
  other_disposition smallint generated always as (nullif(disposition, 0)) stored,
  reversal_state smallint not null default 0,
  needs_review boolean not null default false,
  pin_state smallint not null default 0 check (pin_state between 0 and 5),
  pin_tries smallint not null default 0,
  pin_job uuid,
  pin_expires_at timestamptz,
  error_code smallint,
  response_code text,
  authorization_code text,
  unusable_authorization_code text,
  settlement_date text,
  approved_minor bigint,
  card_tags jsonb,
  card_type text,
  provider_reference text,
  provider_fields jsonb,
  status smallint not null check (status between 0 and 10),
  updated_at timestamptz not null
) with (fillfactor = 55);

insert into transactions (acquirer_id, integrator_id, id, created_at, answer_by, attempt, type, merchant_id,
  merchant_reference, device_installation_id, fingerprint, original_id, amount_minor, currency, user_claim, user_id,
  reader_id, reader_transaction_id, latitude, longitude, scheme, masked_pan, pan_hash, sealed_card, chip_tags, x_tid,
  consumer_id, correlation_id, pin_fingerprint, earlier_attempts, route_id, tid, mid, stan, rrn, sent_at, deadline_at,
  deadline_seconds, overdue_job, completing_until, reversal_attempt, reversal_armed_at, refunded_minor, void_state,
  handover, disposition, reversal_state, needs_review, pin_state, pin_tries, pin_job, pin_expires_at, error_code,
  response_code, authorization_code, unusable_authorization_code, settlement_date, approved_minor, card_tags, card_type,
  provider_reference, provider_fields, status, updated_at)
select acquirer_id, integrator_id, id, created_at, answer_by, attempt, type, merchant_id,
  merchant_reference, device_installation_id, fingerprint, original_id, amount_minor, currency, user_claim, user_id,
  reader_id, reader_transaction_id, latitude, longitude, scheme, masked_pan, pan_hash, sealed_card, chip_tags, x_tid,
  consumer_id, correlation_id, pin_fingerprint, earlier_attempts, route_id, tid, mid, stan, rrn, sent_at, deadline_at,
  deadline_seconds, overdue_job, completing_until, reversal_attempt, reversal_armed_at, refunded_minor, void_state,
  handover, disposition, reversal_state, needs_review, pin_state, pin_tries, pin_job, pin_expires_at, error_code,
  response_code, authorization_code, unusable_authorization_code, settlement_date, approved_minor, card_tags, card_type,
  provider_reference, provider_fields, status, updated_at
from rewritten.transactions order by created_at;

drop table rewritten.transactions;
drop schema rewritten;

alter table transactions
  add primary key (acquirer_id, id),
  add unique (acquirer_id, merchant_id, merchant_reference);
create index transactions_by_merchant on transactions (acquirer_id, merchant_id, created_at desc, id desc);
create index transactions_by_integrator on transactions (acquirer_id, integrator_id, created_at desc, id desc);
create index transactions_by_acquirer on transactions (acquirer_id, created_at desc, id desc);
create index transactions_by_user on transactions (acquirer_id, coalesce(user_id::text, user_claim), created_at desc, id desc)
  where coalesce(user_id::text, user_claim) is not null;
create index transactions_by_amount on transactions (acquirer_id,
  (amount_minor / case when currency = any('{BIF,CLP,DJF,GNF,ISK,JPY,KMF,KRW,PYG,RWF,UGX,VND,VUV,XAF,XOF,XPF}') then 1 when currency = any('{BHD,IQD,JOD,KWD,LYD,OMR,TND}') then 1000 else 100 end::numeric),
  merchant_id);
create index transactions_by_link on transactions (acquirer_id, consumer_id) where consumer_id is not null;
create index transactions_by_original on transactions (acquirer_id, original_id) where original_id is not null;
create index transactions_by_age on transactions using brin (created_at) with (autosummarize = on);
create index transactions_owed on transactions (acquirer_id, stan) where reversal_state in (1, 2, 4, 5);
create index transactions_to_review on transactions (acquirer_id, created_at desc, id desc) where needs_review;
create index transactions_answerable on transactions (acquirer_id, tid, stan)
  where reversal_state <> 0 or other_disposition = 1 or pin_state = 1;
create index transactions_not_approved_by_merchant
  on transactions (acquirer_id, merchant_id, other_disposition, created_at desc, id desc) where other_disposition is not null;
create index transactions_not_approved_by_integrator
  on transactions (acquirer_id, integrator_id, other_disposition, created_at desc, id desc) where other_disposition is not null;
create index transactions_not_approved_by_acquirer
  on transactions (acquirer_id, other_disposition, created_at desc, id desc) where other_disposition is not null;

-- Down Migration

-- The order of columns has no meaning to any statement: nothing is undone.
