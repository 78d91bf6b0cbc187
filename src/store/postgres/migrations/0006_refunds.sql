-- Up Migration

-- What was given back of a sale, or is about to be: reserved by one guarded update in the commit of the refund, so that two
-- refunds at once cannot exceed it. void_state: 1 asked, 2 done (transactions/void.ts).
alter table transactions
  add column refunded_minor bigint not null default 0 check (refunded_minor >= 0),
  add column void_state smallint check (void_state in (1, 2));

-- A refund or void is looked up by its sale; taps have no entry.
create index transactions_by_original on transactions (acquirer_id, original_id) where original_id is not null;

-- What was answered under an Idempotency-Key, kept for a day. Without a status the request is still under way. The answer is
-- sealed: it may hold a secret that is shown once.
create table idempotency_keys (
  credential text not null,
  route text not null,
  key text not null check (length(key) <= 255),
  claim uuid not null,
  fingerprint bytea not null,
  status smallint,
  sealed_answer bytea,
  started_at timestamptz not null default clock_timestamp(),
  primary key (credential, route, key)
);

create index idempotency_keys_by_age on idempotency_keys (started_at);

-- Down Migration

drop table idempotency_keys;
drop index transactions_by_original;
alter table transactions drop column refunded_minor, drop column void_state;
