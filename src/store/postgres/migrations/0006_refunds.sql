-- Up Migration

-- The amount of a sale that was refunded or is about to be. One guarded update in the commit of the refund reserves it,
-- so that two refunds at once cannot exceed it. void_state: 1 requested, 2 done (transactions/afterwards/void.ts).
alter table transactions
  add column refunded_minor bigint not null default 0 check (refunded_minor >= 0),
  add column void_state smallint check (void_state in (1, 2));

-- A refund or void is looked up by its sale; taps have no entry.
create index transactions_by_original on transactions (acquirer_id, original_id) where original_id is not null;

-- The response to a request with an Idempotency-Key, kept for a day. While the request is in progress, the status is
-- null. The response is sealed, because it may contain a secret that is shown once.
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
